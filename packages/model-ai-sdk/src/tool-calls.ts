import type { LanguageModelV4StreamPart, LanguageModelV4ToolCall } from '@ai-sdk/provider'
import type { ModelPart, ProviderMetadata } from '@troupe/kernel'
import { toMetadata } from './metadata.ts'

type Start = Extract<LanguageModelV4StreamPart, { type: 'tool-input-start' }>
type Delta = Extract<LanguageModelV4StreamPart, { type: 'tool-input-delta' }>
type End = Extract<LanguageModelV4StreamPart, { type: 'tool-input-end' }>

interface ProviderCall {
  readonly callId: string
  /** Whether its deltas are pieces of JSON; with a text encoding only the complete call is JSON. */
  readonly streams: boolean
  written: string
  metadata: ProviderMetadata | undefined
}

/** Translates the tool calls of one answer, each into start, deltas and end under a unique id; calls that the vendor executes are left out. */
export class ToolCalls {
  readonly #out: ModelPart[]
  readonly #open = new Map<string, ProviderCall>()
  readonly #callIds = new Set<string>()
  readonly #executedByVendor = new Set<string>()

  constructor(out: ModelPart[]) {
    this.#out = out
  }

  start({ id, toolName, inputEncoding, providerExecuted, providerMetadata }: Start): void {
    if (providerExecuted) {
      this.#executedByVendor.add(id)
      return
    }
    this.#close(id)
    this.#begin(id, toolName, inputEncoding !== 'text', toMetadata(providerMetadata))
  }

  delta({ id, delta }: Delta): void {
    const call = this.#open.get(id)
    if (call?.streams) this.#write(call, delta)
  }

  end({ id, providerMetadata }: End): void {
    const call = this.#open.get(id)
    if (call) call.metadata = toMetadata(providerMetadata) ?? call.metadata
  }

  /** Adds the complete call: writes what its deltas have not written yet, then ends it. */
  complete({ toolCallId, toolName, input, providerExecuted, providerMetadata }: LanguageModelV4ToolCall): void {
    if (providerExecuted || this.#executedByVendor.has(toolCallId)) return
    const call = this.#open.get(toolCallId) ?? this.#begin(toolCallId, toolName, true, undefined)
    const text = typeof input === 'string' ? input : JSON.stringify(input ?? {})
    if (text.startsWith(call.written)) this.#write(call, text.slice(call.written.length))
    call.metadata = toMetadata(providerMetadata) ?? call.metadata
    this.#close(toolCallId)
  }

  /** Ends the calls that an incomplete answer has left open. */
  finish(): void {
    for (const id of [...this.#open.keys()]) this.#close(id)
  }

  #begin(id: string, name: string, streams: boolean, metadata: ProviderMetadata | undefined): ProviderCall {
    const call: ProviderCall = { callId: this.#unique(id), streams, written: '', metadata }
    this.#open.set(id, call)
    this.#out.push({ type: 'tool-call-start', callId: call.callId, name })
    return call
  }

  #write(call: ProviderCall, delta: string): void {
    if (delta === '') return
    call.written += delta
    this.#out.push({ type: 'tool-call-delta', callId: call.callId, delta })
  }

  #close(id: string): void {
    const call = this.#open.get(id)
    if (!call) return
    this.#open.delete(id)
    const { callId, metadata } = call
    this.#out.push({ type: 'tool-call-end', callId, ...(metadata && { metadata }) })
  }

  /** Makes an id unique: some servers give several calls of an answer the same id, or none. */
  #unique(id: string): string {
    const base = id || 'call'
    let callId = base
    for (let n = 2; this.#callIds.has(callId); n++) callId = `${base}-${n}`
    this.#callIds.add(callId)
    return callId
  }
}

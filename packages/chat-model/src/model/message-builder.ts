import {
  type AssistantMessage,
  type EventDraft,
  type EventStamp,
  KernelError,
  type ModelPart,
  type ModelResult,
  type Part,
  type RunContext,
  type Sink,
  type ToolCall,
  type Usage,
} from '@troupe/kernel'
import { got } from '@troupe/kernel/kit'
import { markModelError } from '../errors/error-origin.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

/** A part of an answer that comes from a journal. */
export type JournalledPart = ModelPart & {
  /** Set for a call whose id was taken, which in another attempt depends on timing: it gets a new id again. */
  readonly renamed?: true
  /** Set if readers have seen it already. */
  readonly shown?: true
}

/** The parts that show nothing. */
const SILENT: ReadonlySet<ModelPart['type'] | undefined> = new Set(['restart', 'part-end', 'finish'])

/** Builds the assistant message from the parts of a model, and writes each part as an event. Contract: what comes after the run was stopped is refused, so that the message has what was shown. */
export class MessageBuilder implements Sink<ModelPart> {
  readonly #ctx: RunContext
  readonly #signal: AbortSignal
  readonly #stamp: EventStamp
  readonly #sink: Sink<EventDraft>
  readonly #uniqueId: (callId: string) => string
  readonly #structured: boolean
  #messageId = ''
  #parts: Mutable<Part>[] = []
  #open: Mutable<Part & { type: 'text' | 'reasoning' }> | undefined
  readonly #calls: StreamedCall[] = []
  #finish: (ModelPart & { type: 'finish' }) | undefined

  /** Contract: the text of a message without calls is structured output if `structured` says so. */
  constructor(
    ctx: RunContext,
    stamp: EventStamp,
    sink: Sink<EventDraft>,
    uniqueId: (callId: string) => string,
    structured = false,
  ) {
    this.#ctx = ctx
    this.#signal = ctx.signal
    this.#stamp = stamp
    this.#sink = sink
    this.#uniqueId = uniqueId
    this.#structured = structured
  }

  /** Whether the message has been shown: its `message-start` was written. */
  get begun(): boolean {
    return this.#messageId !== ''
  }

  /** The id of the call that began last. */
  get lastCallId(): string | undefined {
    return this.#calls.at(-1)?.call.id
  }

  write(part: JournalledPart): void | Promise<void> {
    if (this.#signal.aborted && !part?.shown && !SILENT.has(part?.type)) this.#ctx.throwIfAborted()
    switch (part?.type) {
      case 'text-delta':
        return this.#delta('text', part.type, text(part.delta))
      case 'reasoning-delta':
        return this.#delta('reasoning', part.type, text(part.delta))
      case 'part-end':
        this.#close(part)
        return
      case 'file':
        if (part.file?.type !== 'file') throw malformed('expected a file', part.file)
        this.#close()
        this.#parts.push(part.file)
        return this.begin()
      case 'tool-call-start':
        return this.#startCall(part.callId, part.name, part.renamed ? '' : part.callId)
      case 'tool-call-delta':
        return this.#extendCall(part.callId, part.delta)
      case 'tool-call-end':
        return this.#endCall(part)
      case 'restart':
        return this.#restart()
      case 'finish':
        if (!isUsage(part.usage)) throw malformed('finish must have the tokens used', part.usage)
        this.#finish = part
        return
      default:
        throw malformed('unknown part', (part as { type?: unknown } | undefined)?.type)
    }
  }

  /** Writes `message-start`, once. */
  begin(): void | Promise<void> {
    if (this.begun) return
    this.#messageId = this.#ctx.ids.next()
    const { runId, agentName, runPath } = this.#stamp
    const start = { type: 'message-start', runId, agentName, runPath, messageId: this.#messageId } as const
    return this.#sink.write(this.#structured ? { ...start, structured: true } : start)
  }

  /** Ends the calls that the model has not ended. */
  end(): void | Promise<void> {
    if (this.#signal.aborted && !this.begun) this.#ctx.throwIfAborted()
    return this.#calls.every(({ ended }) => ended) ? this.begin() : this.#endCalls()
  }

  async #endCalls(): Promise<void> {
    for (const open of this.#calls) {
      if (!open.ended) await this.#sink.write({ type: 'tool-call-end', call: open.call })
      open.ended = true
    }
  }

  /** The answer of a model. Contract: throws `MODEL_FAILED` if its `finish` has not arrived. */
  result(modelName: string): ModelResult {
    if (!this.#finish) {
      throw new KernelError('MODEL_FAILED', `model ${modelName}: a wrapModelCall handler dropped the finish part`)
    }
    const { usage, reason, model } = this.#finish
    return { message: this.message(), usage, finishReason: reason, model: model || modelName }
  }

  message(): AssistantMessage {
    const id = this.#messageId
    const content = this.#content()
    const { agentName } = this.#ctx
    if (this.#calls.length === 0) {
      const message = { id, role: 'assistant', content, agentName } as const
      return this.#structured ? { ...message, structured: true } : message
    }
    return { id, role: 'assistant', content, toolCalls: this.#calls.map(({ call }) => call), agentName }
  }

  #content(): AssistantMessage['content'] {
    const content = this.#parts.filter(isKept)
    const [only] = content
    if (!only) return ''
    return content.length === 1 && only.type === 'text' && !only.metadata ? only.text : content
  }

  /** Contract: an empty delta writes no event, but begins a part: a vendor may want its metadata back. */
  #delta(of: 'text' | 'reasoning', type: `${typeof of}-delta`, delta: string): void | Promise<void> {
    if (this.#open?.type === of) this.#open.text += delta
    else {
      const part = { type: of, text: delta }
      this.#open = part
      this.#parts.push(part)
    }
    if (delta === '') return
    const wait = this.begin()
    const { runId, agentName, runPath } = this.#stamp
    return this.#writeAfter({ type, runId, agentName, runPath, messageId: this.#messageId, delta }, wait)
  }

  #close(end?: ModelPart & { type: 'part-end' }): void {
    if (this.#open && end?.metadata) this.#open.metadata = end.metadata
    if (this.#open?.type === 'reasoning' && end?.encrypted !== undefined) this.#open.encrypted = end.encrypted
    this.#open = undefined
  }

  #startCall(from: string, name: string, claimed: string): void | Promise<void> {
    if (typeof name !== 'string') throw malformed('a tool call must have a name', name)
    const wait = this.begin()
    this.#close()
    const id = this.#uniqueId(claimed)
    this.#calls.push({ from, call: { id, name, arguments: '' }, ended: false })
    const { runId, agentName, runPath } = this.#stamp
    const messageId = this.#messageId
    return this.#writeAfter({ type: 'tool-call-start', runId, agentName, runPath, messageId, callId: id, name }, wait)
  }

  #extendCall(from: string, delta: string): void | Promise<void> {
    const { call } = this.#streamedCall(from)
    call.arguments += text(delta)
    const { runId, agentName, runPath } = this.#stamp
    return this.#sink.write({ type: 'tool-call-delta', runId, agentName, runPath, callId: call.id, delta })
  }

  #endCall({ callId, metadata }: ModelPart & { type: 'tool-call-end' }): void | Promise<void> {
    const open = this.#streamedCall(callId)
    open.ended = true
    if (metadata) open.call.metadata = metadata
    const { runId, agentName, runPath } = this.#stamp
    return this.#sink.write({ type: 'tool-call-end', runId, agentName, runPath, call: open.call })
  }

  /** Finds the call of a part. Contract: a provider may use an id twice; the part belongs to the call that began last. */
  #streamedCall(from: string): StreamedCall {
    const open = this.#calls.findLast((entry) => entry.from === from)
    if (!open || open.ended) throw malformed('a tool call must be start, deltas and end', from)
    return open
  }

  #restart(): void | Promise<void> {
    const wait = this.begun
      ? this.#sink.write({ type: 'message-end', message: this.message(), dropped: true })
      : undefined
    this.#messageId = ''
    this.#parts = []
    this.#open = undefined
    this.#calls.length = 0
    this.#finish = undefined
    return wait
  }

  #writeAfter(event: EventDraft, after: void | Promise<void>): void | Promise<void> {
    return after ? after.then(() => this.#sink.write(event)) : this.#sink.write(event)
  }
}

function isKept(part: Part): boolean {
  return part.type === 'file' || part.text !== '' || part.metadata !== undefined || 'encrypted' in part
}

interface StreamedCall {
  /** The provider's id. */
  readonly from: string
  readonly call: Mutable<ToolCall>
  ended: boolean
}

function text(delta: string): string {
  if (typeof delta === 'string') return delta
  throw malformed('a delta must be text', delta)
}

function isUsage(usage: Usage | undefined): boolean {
  return typeof usage?.inputTokens === 'number' && typeof usage.outputTokens === 'number'
}

function malformed(expected: string, value: unknown): KernelError {
  return markModelError(new KernelError('MODEL_FAILED', `model: ${expected}, ${got(value)}`))
}

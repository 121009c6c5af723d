import {
  type AssistantMessage,
  type EventDraft,
  type FinishReason,
  KernelError,
  type ModelPart,
  type Part,
  type RunContext,
  type Sink,
  type ToolCall,
  type Usage,
} from '@troupe/kernel'

type Draft<T> = { -readonly [K in keyof T]: T[K] }

/** How an answer ended. */
export interface Finish {
  readonly reason: FinishReason
  readonly usage: Usage
  readonly model: string
}

/** A message while a model writes it: shows its parts as events and puts them together. */
export class Answer implements Sink<ModelPart> {
  readonly #ctx: RunContext
  readonly #sink: Sink<EventDraft>
  readonly #uniqueId: (callId: string) => string
  #messageId = ''
  #parts: Draft<Part>[] = []
  #open: Draft<Part & { type: 'text' | 'reasoning' }> | undefined
  #calls: Map<string, Draft<ToolCall> & { ended?: true }> | undefined
  finish: Finish | undefined

  constructor(ctx: RunContext, sink: Sink<EventDraft>, uniqueId: (callId: string) => string) {
    this.#ctx = ctx
    this.#sink = sink
    this.#uniqueId = uniqueId
  }

  /** Whether anything of it has been shown. */
  get begun(): boolean {
    return this.#messageId !== ''
  }

  write(part: ModelPart): void | Promise<void> {
    switch (part.type) {
      case 'text-delta':
        return part.delta === '' ? undefined : this.#delta('text', part.delta)
      case 'reasoning-delta':
        return part.delta === '' ? undefined : this.#delta('reasoning', part.delta)
      case 'part-end':
        this.#close(part)
        return
      case 'file':
        this.#close()
        this.#parts.push(part.file)
        return this.begin()
      case 'tool-call-start':
        return this.#startCall(part.callId, part.name)
      case 'tool-call-delta':
        return this.#extendCall(part.callId, part.delta)
      case 'tool-call-end':
        return this.#endCall(part)
      case 'restart':
        return this.#restart()
      case 'finish':
        this.finish = { reason: part.reason, usage: part.usage, model: part.model ?? '' }
        return
      default:
        throw malformed(`unknown part, got ${JSON.stringify((part as { type?: unknown }).type)}`)
    }
  }

  /** Shows that the message has begun, if that is not known yet. */
  begin(): void | Promise<void> {
    if (this.begun) return
    this.#messageId = this.#ctx.ids.next()
    return this.#sink.write({ type: 'message-start', messageId: this.#messageId })
  }

  message(): AssistantMessage {
    const content = this.#parts
    const [only] = content
    const plain = content.length === 1 && only?.type === 'text' && !only.metadata
    const toolCalls = this.#calls ? [...this.#calls.values()].map(({ ended: _, ...call }) => call) : []
    return {
      id: this.#messageId,
      role: 'assistant',
      content: content.length === 0 ? '' : plain ? only.text : content,
      ...(toolCalls.length > 0 && { toolCalls }),
      agentName: this.#ctx.agentName,
    }
  }

  #delta(type: 'text' | 'reasoning', delta: string): void | Promise<void> {
    const wait = this.begin()
    if (this.#open?.type === type) this.#open.text += delta
    else {
      const part = { type, text: delta }
      this.#open = part
      this.#parts.push(part)
    }
    return this.#show({ type: `${type}-delta`, messageId: this.#messageId, delta }, wait)
  }

  #close(end?: ModelPart & { type: 'part-end' }): void {
    if (this.#open && end?.metadata) this.#open.metadata = end.metadata
    if (this.#open?.type === 'reasoning' && end?.encrypted !== undefined) this.#open.encrypted = end.encrypted
    this.#open = undefined
  }

  #startCall(callId: string, name: string): void | Promise<void> {
    this.#calls ??= new Map()
    if (this.#calls.has(callId)) throw malformed(`call ids are unique in an answer, got "${callId}" twice`)
    const wait = this.begin()
    this.#close()
    const id = this.#uniqueId(callId)
    this.#calls.set(callId, { id, name, arguments: '' })
    return this.#show({ type: 'tool-call-start', messageId: this.#messageId, callId: id, name }, wait)
  }

  #extendCall(callId: string, delta: string): void | Promise<void> {
    const call = this.#openCall(callId)
    call.arguments += delta
    return this.#sink.write({ type: 'tool-call-delta', callId: call.id, delta })
  }

  #endCall({ callId, metadata }: ModelPart & { type: 'tool-call-end' }): void | Promise<void> {
    const call = this.#openCall(callId)
    if (metadata) call.metadata = metadata
    const { ended: _, ...whole } = call
    call.ended = true
    return this.#sink.write({ type: 'tool-call-end', call: whole })
  }

  #openCall(callId: string): Draft<ToolCall> & { ended?: true } {
    const call = this.#calls?.get(callId)
    if (!call || call.ended) throw malformed(`a tool call is start, deltas and end, got "${callId}" out of order`)
    return call
  }

  #restart(): void | Promise<void> {
    const wait = this.begun
      ? this.#sink.write({ type: 'message-end', message: this.message(), dropped: true })
      : undefined
    this.#messageId = ''
    this.#parts = []
    this.#open = undefined
    this.#calls = undefined
    this.finish = undefined
    return wait
  }

  #show(event: EventDraft, after: void | Promise<void>): void | Promise<void> {
    return after ? after.then(() => this.#sink.write(event)) : this.#sink.write(event)
  }
}

function malformed(what: string): KernelError {
  return new KernelError('MODEL_FAILED', `model: ${what}`)
}

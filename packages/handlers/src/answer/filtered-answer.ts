import { type Awaitable, type ModelPart, type ModelRequest, type PipeStream, type Sink, stream } from '@troupe/kernel'
import { isPromise, pipe } from '@troupe/kernel/kit'

/** A kind of text that an answer has. */
export type TextKind = 'text' | 'reasoning'

/** What becomes of the texts of one answer on their way to readers. */
export interface AnswerFilter {
  /** Takes a piece of text and gives what may be shown. */
  write(kind: TextKind, piece: string): Awaitable<string>
  /** Gives what it has held back. Contract: the text may go on. */
  flush(kind: TextKind): Awaitable<string>
  /** Takes the text of an answer that is JSON, as a whole. */
  json(text: string): Awaitable<string>
  /** Takes the name of a tool that the model made up. */
  toolName(name: string): Awaitable<string>
  /** Takes the arguments of a tool call as a whole. */
  arguments(name: string, text: string): Awaitable<string>
}

/**
 * Passes an answer on through a filter.
 * Contract: text that the filter holds is shown before the part, the call or the answer ends; arguments, and a text that is JSON by the request, are held back until they are whole; what is held when the model fails is never shown. `errorOf` makes the error of an answer that failed.
 */
export function filteredAnswer(
  source: AsyncIterable<ModelPart>,
  request: ModelRequest,
  open: () => AnswerFilter,
  errorOf?: (error: unknown) => unknown,
): PipeStream<ModelPart> {
  return stream((sink) => {
    const read = pipe(source, new FilteredAnswer(sink, request, open))
    return errorOf ? read.catch((error: unknown) => Promise.reject(errorOf(error))) : read
  })
}

type Call = { readonly callId: string; readonly name: string; text: string }

class FilteredAnswer implements Sink<ModelPart> {
  readonly #sink: Sink<ModelPart>
  readonly #open: () => AnswerFilter
  #filter: AnswerFilter
  #kind: TextKind | undefined
  /** The calls whose arguments are not whole. */
  #calls: Call[] = []
  readonly #isJson: boolean
  /** The text that is held, of an answer that is JSON. */
  #json = ''
  readonly #tools: ModelRequest['tools']

  constructor(sink: Sink<ModelPart>, { options, tools }: ModelRequest, open: () => AnswerFilter) {
    this.#sink = sink
    this.#isJson = options?.responseSchema !== undefined
    this.#tools = tools ?? []
    this.#open = open
    this.#filter = open()
  }

  get closed(): boolean {
    return this.#sink.closed ?? false
  }

  write(part: ModelPart): void | Promise<void> {
    switch (part?.type) {
      case 'text-delta':
        return this.#text('text', part)
      case 'reasoning-delta':
        return this.#text('reasoning', part)
      case 'tool-call-start':
        return this.#begin(part)
      case 'tool-call-delta': {
        const call = this.#call(part.callId)
        if (!call || typeof part.delta !== 'string') return this.#sink.write(part)
        call.text += part.delta
        return
      }
      case 'tool-call-end': {
        const call = this.#call(part.callId)
        return call ? this.#after(this.#endCall(call), part) : this.#sink.write(part)
      }
      case 'restart':
        this.#filter = this.#open()
        this.#kind = undefined
        this.#calls = []
        this.#json = ''
        return this.#sink.write(part)
      case 'part-end':
        return this.#after(isWholeJson(this.#json) ? this.#flushAll() : this.#flush(), part)
      case 'finish':
        return this.#finish(part)
      default:
        return this.#after(this.#flush(), part)
    }
  }

  #text(kind: TextKind, part: ModelPart & { readonly delta: string }): void | Promise<void> {
    const before = this.#kind !== undefined && this.#kind !== kind ? this.#flush() : undefined
    if (before) return before.then(() => this.#text(kind, part))
    this.#kind = kind
    const { delta } = part
    if (typeof delta !== 'string' || delta === '') return this.#sink.write(part)
    if (this.#isJson && kind === 'text') {
      this.#json += delta
      return
    }
    return this.#show(kind, this.#filter.write(kind, delta))
  }

  #flush(): void | Promise<void> {
    const kind = this.#kind
    if (kind === undefined) return
    this.#kind = undefined
    return this.#show(kind, this.#filter.flush(kind))
  }

  /** Shows the text that is JSON, too. */
  #flushAll(): void | Promise<void> {
    const wait = this.#flush()
    const json = this.#json
    if (json === '') return wait
    this.#json = ''
    const show = () => this.#show('text', this.#filter.json(json))
    return wait ? wait.then(show) : show()
  }

  #show(kind: TextKind, text: Awaitable<string>): void | Promise<void> {
    if (isPromise(text)) return Promise.resolve(text).then((shown) => this.#show(kind, shown))
    return text === '' ? undefined : this.#sink.write({ type: `${kind}-delta`, delta: text })
  }

  #begin(part: ModelPart & { readonly type: 'tool-call-start' }): void | Promise<void> {
    const { callId, name } = part
    const wait = this.#flushAll()
    // The model got the tools of the request from the app.
    if (!this.#tools.some((tool) => tool.name === name)) return this.#beginUnknown(wait, part)
    this.#calls.push({ callId, name, text: '' })
    return this.#after(wait, part)
  }

  async #beginUnknown(
    wait: void | Promise<void>,
    part: ModelPart & { readonly type: 'tool-call-start' },
  ): Promise<void> {
    await wait
    const passed = await this.#filter.toolName(part.name)
    const name = passed === part.name ? passed : toolNameOf(passed)
    this.#calls.push({ callId: part.callId, name, text: '' })
    await this.#sink.write({ ...part, name })
  }

  /** The call of a part. Contract: a provider may use an id twice; the part belongs to the call that began last. */
  #call(callId: string): Call | undefined {
    return this.#calls.findLast((call) => call.callId === callId)
  }

  #endCall(call: Call): void | Promise<void> {
    const { callId, name, text } = call
    this.#calls.splice(this.#calls.indexOf(call), 1)
    const show = (delta: string) =>
      delta === '' ? undefined : this.#sink.write({ type: 'tool-call-delta', callId, delta })
    const delta = this.#filter.arguments(name, text)
    return isPromise(delta) ? Promise.resolve(delta).then(show) : show(delta)
  }

  #finish(part: ModelPart): void | Promise<void> {
    const wait = this.#flushAll()
    // A model may leave the end of a call out.
    if (this.#calls.length > 0) return this.#endCalls(wait).then(() => this.#sink.write(part))
    return this.#after(wait, part)
  }

  async #endCalls(flushed: void | Promise<void>): Promise<void> {
    await flushed
    for (const call of [...this.#calls]) await this.#endCall(call)
  }

  #after(wait: void | Promise<void>, part: ModelPart): void | Promise<void> {
    return wait ? wait.then(() => this.#sink.write(part)) : this.#sink.write(part)
  }
}

const CLOSERS: ReadonlySet<string | undefined> = new Set(['}', ']'])

/** Whether nothing that follows could belong to it. */
function isWholeJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !CLOSERS.has(text.trimEnd().at(-1))) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A name that vendors accept. */
function toolNameOf(text: string): string {
  return text.replace(/[^\w-]/g, '_').slice(0, 64) || '_'
}

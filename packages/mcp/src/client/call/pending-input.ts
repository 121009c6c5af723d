import type {
  CreateMessageResult,
  ElicitResult,
  InputRequest,
  InputRequests,
  InputRequiredResult,
  InputResponse,
  InputResponses,
} from '@modelcontextprotocol/client'
import type { JsonObject, RunContext } from '@troupe/kernel'
import type { LiveCall } from '../connection/live-call.ts'

/** What a request has when it is made again with answers. */
export type InputOfRetry = { readonly inputResponses?: InputResponses; readonly requestState?: string }

type Answerer = Omit<LiveCall, 'questionCancelled'>

/**
 * The questions that a server of 2026-07-28 has answered a request with.
 * Contract: they are in the state of the run while a person is asked, so that the request is made again from there, in any process, with the server's own state.
 */
export class PendingInput {
  readonly #ctx: RunContext
  readonly #key: string
  readonly #answerer: Answerer
  #isKept = false

  constructor(ctx: RunContext, key: string, answerer: Answerer) {
    this.#ctx = ctx
    this.#key = `temp:mcp:${key}`
    this.#answerer = answerer
  }

  /** What to send first: the answers, if the request was interrupted. */
  async again(): Promise<InputOfRetry> {
    const saved = this.#ctx.state.get(this.#key) as InputRequiredResult | undefined
    return saved === undefined ? {} : this.#answersTo(saved)
  }

  /** Answers what the server asks. Contract: rejects with `INTERRUPTED` while a person has not answered. */
  answer({ inputRequests, requestState }: InputRequiredResult): Promise<InputOfRetry> {
    const asked = { ...(inputRequests && { inputRequests }), ...(requestState !== undefined && { requestState }) }
    this.#ctx.state.set(this.#key, asked as unknown as JsonObject)
    return this.#answersTo(asked)
  }

  keep(): void {
    this.#isKept = true
  }

  end(): void {
    if (!this.#isKept && this.#ctx.state.get(this.#key) !== undefined) this.#ctx.state.delete(this.#key)
  }

  async #answersTo({ inputRequests = {}, requestState }: Partial<InputRequiredResult>): Promise<InputOfRetry> {
    const inputResponses = await this.#responses(inputRequests)
    return { ...(inputResponses && { inputResponses }), ...(requestState !== undefined && { requestState }) }
  }

  /** Contract: asks everything that a person is asked at once, before anything else is done. */
  async #responses(requests: InputRequests): Promise<InputResponses | undefined> {
    const entries = Object.entries(requests)
    if (entries.length === 0) return undefined
    const asked = await Promise.allSettled(
      entries.map(async ([key, request]) => [key, await this.#asked(request)] as const),
    )
    const responses: [string, InputResponse][] = []
    for (const each of asked) if (each.status === 'rejected') throw each.reason
    for (const [i, [key, request]] of entries.entries()) {
      const each = asked[i]
      const answer = each?.status === 'fulfilled' ? each.value[1] : undefined
      responses.push([key, answer ?? (await this.#given(request))])
    }
    return Object.fromEntries(responses)
  }

  #asked(request: InputRequest): Promise<ElicitResult> | undefined {
    return request.method === 'elicitation/create' ? this.#answerer.ask(request.params) : undefined
  }

  #given(request: InputRequest): Promise<CreateMessageResult> | { readonly roots: [] } {
    return request.method === 'sampling/createMessage' ? this.#answerer.sample(request.params) : { roots: [] }
  }
}

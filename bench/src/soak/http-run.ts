import type { AgUiEvent, RunAgentInput } from '@troupe/ag-ui'

/** The part of a run that a client has read. */
export interface Reading {
  readonly text: string
  /** The last sequence number. Contract: no event is missing or came twice. */
  readonly seq: number
  readonly pings: number
  readonly end: AgUiEvent | undefined
}

type Resume = NonNullable<RunAgentInput['resume']>

/** Options of `HttpRun.start`. */
export interface StartOptions {
  /** The number of events after which the client closes the connection, while the run continues. */
  readonly leaveAfter?: number
  /** Called when the response has begun. */
  readonly onFirst?: () => void
}

/** One run on a thread as a client sees it, over HTTP. */
export class HttpRun {
  readonly #url: string
  readonly #threadId: string
  readonly runId: string = crypto.randomUUID()

  constructor(url: string, threadId: string) {
    this.#url = url
    this.#threadId = threadId
  }

  async start(
    input: { readonly text: string } | { readonly resume: Resume },
    { leaveAfter = Number.POSITIVE_INFINITY, onFirst = () => {} }: StartOptions = {},
  ): Promise<Reading> {
    const messages = 'text' in input ? [{ id: crypto.randomUUID(), role: 'user', content: input.text }] : []
    const resume = 'resume' in input ? input.resume : undefined
    const { runId } = this
    const body = { threadId: this.#threadId, runId, protocolVersion: '1.0', messages, tools: [], context: [], resume }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(this.#url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.ok) onFirst()
    return this.#read(response, 0, leaveAfter)
  }

  /** Continues after this sequence number. */
  async follow(after: number): Promise<Reading> {
    const headers = { 'last-event-id': `${this.runId}:${after}` }
    return this.#read(await fetch(`${this.#path}?protocolVersion=1.0`, { headers }), after, Number.POSITIVE_INFINITY)
  }

  async cancel(): Promise<void> {
    await expectStatus(await fetch(`${this.#path}/cancel`, { method: 'POST' }), 200)
  }

  get #path(): string {
    return `${this.#url}/threads/${this.#threadId}/runs/${this.runId}`
  }

  async #read(response: Response, after: number, leaveAfter: number): Promise<Reading> {
    if (!response.ok || !response.body) throw new Error(`HTTP ${response.status} ${await response.text()}`)
    const reading = { text: '', seq: after, pings: 0, end: undefined as AgUiEvent | undefined }
    let rest = ''
    // Leaving the loop closes the connection.
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const frames = (rest + chunk).split('\n\n')
      rest = frames.pop() ?? ''
      for (const frame of frames) {
        if (frame.startsWith(':')) reading.pings++
        else this.#add(frame, reading)
      }
      if (reading.seq >= leaveAfter) break
    }
    return reading
  }

  #add(frame: string, reading: { -readonly [Key in keyof Reading]: Reading[Key] }): void {
    const [, seq, json = ''] = /^id: \S+:(\d+)\ndata: (.*)$/s.exec(frame) ?? []
    const event = JSON.parse(json) as AgUiEvent
    if (Number(seq) !== reading.seq + 1) throw new Error(`run ${this.runId}: ${seq} comes after ${reading.seq}`)
    reading.seq++
    if (event.type === 'TEXT_MESSAGE_CONTENT') reading.text += event.delta
    if (event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR') reading.end = event
  }
}

/** Reads the body of a response. Contract: throws unless it has this status. */
export async function expectStatus(response: Response, status: number): Promise<string> {
  const text = await response.text()
  if (response.status !== status) throw new Error(`expected HTTP ${status}, got ${response.status} ${text}`)
  return text
}

import { seeded } from '../random.ts'
import { FuzzProcess } from './fuzz-process.ts'
import { type FuzzRequest, fuzzRequest } from './fuzz-request.ts'
import { type RawAnswer, type RawRequest, sendRaw } from './send-raw.ts'

/** What came of fuzzed requests. */
export interface FuzzFigures {
  readonly requests: number
  /** By status; 0 is a connection that was closed without an answer. */
  readonly statuses: ReadonlyMap<number, number>
  readonly slowestMs: number
  /** Requests that took too long even when they were sent alone. */
  readonly slow: number
  readonly growthMegabytes: number
  /** Every answer and every condition that must not be. */
  readonly failures: readonly string[]
}

const LANES = 8
/** A request that takes longer is sent again, alone. */
const SLOW_MS = 500
/** A request that takes this long has hung, whatever else the machine does. */
const HUNG_MS = 10_000
const MOST_GROWTH_MEGABYTES = 128
/** A thread that its user deletes when a run has ended, and before the last event of that run is stored. */
const DELETED = /unknown (thread|run log), got/
/** From here on everything that is loaded once is loaded. */
const WARM = 500

/** Sends random and broken requests to the AG-UI handler and to the assistant, as several users. */
export async function fuzz(count: number, seed: number): Promise<FuzzFigures> {
  await using fuzzed = await FuzzProcess.start()
  const random = seeded(seed)
  const attack = new Attack(fuzzed)
  const until = async (end: number) => {
    const lane = async () => {
      while (attack.sent < end) await attack.send(fuzzRequest(random, attack.sent++))
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }
  await until(Math.min(WARM, count))
  const before = (await fuzzed.condition())?.heapMegabytes ?? 0
  await until(count)
  await attack.sendSlowAlone()
  await attack.sendNormal()
  const after = await fuzzed.condition()
  const growthMegabytes = (after?.heapMegabytes ?? 0) - before
  const { failures } = attack
  if (!after) failures.push('the server process is gone')
  for (const error of after?.unhandled ?? []) failures.push(`a rejection was not handled: ${error}`)
  for (const error of [...(after?.reported ?? []), ...fuzzed.printed.split(/^(?=ag-ui, )/m)]) {
    if (error !== '' && !DELETED.test(error)) failures.push(`an internal error was reported: ${error}`)
  }
  for (const key of after?.polluted ?? []) failures.push(`every object has the key ${key}`)
  if (growthMegabytes > MOST_GROWTH_MEGABYTES) failures.push(`memory grew by ${growthMegabytes} MB`)
  const { statuses, slowestMs, slow } = attack
  return { requests: count, statuses, slowestMs, slow, growthMegabytes, failures }
}

/** Sends requests and keeps what came of them. */
class Attack {
  readonly #fuzzed: FuzzProcess
  readonly #toRepeat: FuzzRequest[] = []
  readonly statuses: Map<number, number> = new Map()
  readonly failures: string[] = []
  sent = 0
  slow = 0
  slowestMs = 0

  constructor(fuzzed: FuzzProcess) {
    this.#fuzzed = fuzzed
  }

  async send(request: FuzzRequest): Promise<void> {
    const answer = await this.#answerTo(request)
    if (!answer) return
    const { status, ms } = answer
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    this.slowestMs = Math.max(this.slowestMs, ms)
    if (ms > SLOW_MS) this.#toRepeat.push(request)
    const fault = faultOf(answer, request)
    if (fault) this.failures.push(`${fault}\n    ${shown(request)}\n    ${answer.body.slice(0, 300)}`)
  }

  /** Sends requests that took long once more, one after the other: the machine may have been busy. */
  async sendSlowAlone(): Promise<void> {
    for (const request of this.#toRepeat) {
      const times: number[] = []
      for (let i = 0; i < 3; i++) times.push((await this.#answerTo(request))?.ms ?? HUNG_MS)
      if (Math.min(...times) <= SLOW_MS) continue
      this.slow++
      this.failures.push(`it takes ${times.map(Math.round).join(', ')} ms\n    ${shown(request)}`)
    }
  }

  /** Both servers still do their work. */
  async sendNormal(): Promise<void> {
    const { agUi, assistant } = this.#fuzzed.urls
    for (const url of [agUi, `${assistant}/agent`]) {
      const threadId = crypto.randomUUID()
      const messages = [{ id: threadId, role: 'user', content: 'Hello' }]
      const body = JSON.stringify({ threadId, runId: crypto.randomUUID(), messages, tools: [], context: [] })
      const headers = { 'content-type': 'application/json', authorization: 'ann' }
      const response = await fetch(url, { method: 'POST', headers, body })
      const text = await response.text()
      if (!text.includes('RUN_FINISHED')) this.failures.push(`a normal request fails: ${response.status} ${text}`)
    }
  }

  async #answerTo(request: FuzzRequest): Promise<RawAnswer | undefined> {
    try {
      return await sendRaw(this.#fuzzed.urls[request.target], request.raw, HUNG_MS)
    } catch (error) {
      this.failures.push(`${error}\n    ${shown(request)}`)
      return undefined
    }
  }
}

function faultOf({ status, head, body }: RawAnswer, { raw }: FuzzRequest): string | undefined {
  if (status === 0 && !raw.leaves && sizeOf(raw) < LARGE) return 'a request has no answer'
  if (status === 503 && !/^retry-after: /im.test(head)) return 'a 503 does not say when to try again'
  if (status >= 500 && status !== 503) return `the answer is ${status}`
  if (/"code":"VALIDATION_FAILED","message":"(?![^":]+: )/.test(body)) return 'a refusal does not name the field'
  return undefined
}

/** A server stops reading a body that is too large; if its client is still writing, the answer may get lost. */
const LARGE = 1_000_000

function sizeOf({ pieces }: RawRequest): number {
  return pieces.reduce((sum, { length }) => sum + length, 0)
}

/** The beginning of a request, as text that can be sent again. */
function shown({ target, raw }: FuzzRequest): string {
  return `${target} ${JSON.stringify(Buffer.concat(raw.pieces).toString('latin1').slice(0, 800))}`
}

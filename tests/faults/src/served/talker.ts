import { KernelError, type ThreadRef } from '@troupe/kernel'
import type { Findings } from '../checks/findings.ts'
import { framesOf } from './frames-of.ts'
import { Turn } from './turn.ts'

/** How a talker reaches the servers. */
export interface Line {
  /** The address of a server; another one each time, perhaps. */
  url(): string
  /** After how long without an answer or an event it tries again. */
  readonly silenceMs: number
}

/** The next request of a turn. */
type Next = 'send' | 'follow' | 'ended'

/** How long a turn may take before it counts as one that does not end. */
const TURN_MS = 60_000
const RETRY_MS = 40

/** A user of one thread: sends messages over HTTP, tries again as clients do, and follows each run to its end. */
export class Talker {
  readonly ref: ThreadRef
  readonly turns: Turn[] = []
  /** The answers that it got, by status, and the connections that broke. */
  readonly answers: Map<string, number> = new Map()
  /** The longest time from a request to its answer. */
  slowestMs = 0
  readonly #line: Line
  readonly #findings: Findings

  constructor(threadId: string, line: Line, findings: Findings) {
    this.ref = { app: 'faults', user: `user of ${threadId}`, threadId }
    this.#line = line
    this.#findings = findings
  }

  /** Says something. Contract: resolves when the run has ended, whatever happens to servers meanwhile. */
  async say(script: string): Promise<Turn> {
    const { threadId } = this.ref
    const turn = new Turn(`${threadId}-${this.turns.length + 1}`, script, this.#findings)
    this.turns.push(turn)
    const deadline = performance.now() + TURN_MS
    for (let next: Next = 'send'; next !== 'ended'; ) {
      if (performance.now() > deadline) {
        this.#findings.check(`${turn.runId}: a turn ends`, false, [next, [...this.answers]])
        break
      }
      next = await this.#try(next, turn)
    }
    return turn
  }

  async #try(next: 'send' | 'follow', turn: Turn): Promise<Next> {
    const began = performance.now()
    let response: Response
    try {
      response = await this.#request(next, turn)
    } catch {
      return this.#cut('without an answer')
    }
    this.slowestMs = Math.max(this.slowestMs, performance.now() - began)
    const { status } = response
    if (status !== 200) return this.#refused(next, turn, response)
    this.#count('200')
    try {
      for await (const frame of framesOf(response, this.#line.silenceMs)) turn.read(frame)
    } catch {
      return turn.ended ? 'ended' : this.#cut('in a stream')
    }
    return turn.ended ? 'ended' : 'follow'
  }

  #request(next: 'send' | 'follow', turn: Turn): Promise<Response> {
    const { user, threadId } = this.ref
    const headers = { authorization: user, 'content-type': 'application/json', connection: 'close' }
    const { silenceMs } = this.#line
    if (next === 'follow') {
      const path = `/threads/${threadId}/runs/${turn.runId}?after=${turn.position}&protocolVersion=1.0`
      return fetchWithin(silenceMs, this.#line.url() + path, { headers })
    }
    // Clients send what they know of the thread, and the server knows what is new.
    const messages = this.turns.slice(-3).map(({ message }) => message)
    const input = { threadId, runId: turn.runId, messages, tools: [], context: [], protocolVersion: '1.0' }
    return fetchWithin(silenceMs, this.#line.url(), { method: 'POST', headers, body: JSON.stringify(input) })
  }

  async #refused(next: 'send' | 'follow', turn: Turn, response: Response): Promise<Next> {
    const { status, headers } = response
    const { code, holder } = (await response.json().catch(() => ({}))) as { code?: string; holder?: { runId: string } }
    this.#count(`${status} ${code}`)
    const isOurs = code === 'RUN_ID_TAKEN' || holder?.runId === turn.runId
    if (status === 503) {
      this.#findings.check('a 503 says when to try again', headers.get('retry-after') !== null, code)
    } else {
      const expected = status === 409 || status === 429 || (status === 404 && next === 'follow')
      this.#findings.check('an answer is a stream, a conflict or a 503', expected, [next, status, code])
      if (!expected) throw new KernelError('INTERNAL', `${turn.runId}: ${next} was answered with ${status} ${code}`)
    }
    await pause(RETRY_MS)
    if (status === 409) return isOurs ? 'follow' : 'send'
    // A run that has no log has not begun.
    return status === 404 ? 'send' : next
  }

  async #cut(where: string): Promise<Next> {
    this.#count(`cut ${where}`)
    await pause(RETRY_MS)
    return 'follow'
  }

  #count(answer: string): void {
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1)
  }
}

/** A request whose headers come in time; its body may take longer. */
async function fetchWithin(ms: number, url: string, init: RequestInit): Promise<Response> {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), ms)
  try {
    return await fetch(url, { ...init, signal: controller.signal })
  } finally {
    clearTimeout(timer)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

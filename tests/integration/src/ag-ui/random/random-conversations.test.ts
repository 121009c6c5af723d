import type { Message, ResumeEntry } from '@ag-ui/client'
import { type AgUiMessage, toAgUiMessages } from '@troupe/ag-ui'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { random } from '../../load/random.ts'
import { ENDLESS, LESS, OWNER, type RandomDesk, serveRandomDesk } from './random-desk.fixture.ts'
import { GENERATIONS, Tab, type TabOutcome } from './random-tab.fixture.ts'

const RUNS = Number(process.env.RUNS ?? 300)
const BATCH = 20

let desk: RandomDesk
beforeAll(async () => {
  desk = await serveRandomDesk()
})
afterAll(() => desk[Symbol.asyncDispose]())

/** What conversations did, to check that they cover everything. */
const did = new Map<string, number>()
const note = (what: string) => void did.set(what, (did.get(what) ?? 0) + 1)

/** A conversation of several requests, from one or two tabs. */
class Conversation {
  readonly #below: (limit: number) => number
  readonly #threadId: string
  /** Whether its clients see less than the history has. */
  readonly #isInPart: boolean
  readonly tabs: readonly Tab[]
  #tab: Tab
  #version = 0
  #texts = 0
  #beside = false
  readonly #outcomes: Map<Tab, TabOutcome> = new Map()
  readonly log: string[] = []

  constructor(seed: number, version: string) {
    this.#below = random(seed * 7_919 + 1)
    for (let i = 0; i < 5; i++) this.#below(2)
    this.#threadId = `${version}-${seed}`
    const names = this.#below(4) === 0 ? ['a', 'b'] : ['a']
    this.#isInPart = seed % 2 === 0
    const url = `${desk.url}/${this.#isInPart ? 'part' : 'whole'}`
    this.tabs = names.map((name) => new Tab(url, this.#threadId, version, name))
    this.#tab = this.tabs[0] as Tab
  }

  async play(): Promise<number> {
    const requests = 2 + this.#below(7)
    for (let i = 0; i < requests; i++) {
      this.#tab = this.tabs[this.#below(this.tabs.length)] as Tab
      await this.#act()
      expect(this.#tab.violations, this.log.join('\n')).toEqual([])
    }
    await this.#compare()
    return requests
  }

  async #act(): Promise<void> {
    const tab = this.#tab
    const last = this.#outcomes.get(tab)
    const fresh = tab.seen === this.#version
    if (tab.agent.pendingInterrupts.length > 0) {
      if (fresh || this.#below(2)) return this.#answer()
      // A page that forgets its question; the client would refuse to send anything else.
      tab.agent.pendingInterrupts = []
    }
    if (fresh && last === 'pending') return this.#results()
    if (last === 'rejected') return this.#lookAgain()
    const acts = [this.#say, this.#say, this.#stop, this.#stop, this.#again, this.#afterResults, this.#edit, this.#edit]
    await (acts[this.#below(acts.length)] as () => Promise<void>).call(this)
  }

  async #request(what: string, resume: ResumeEntry[] = [], stopAfter?: number): Promise<void> {
    const tab = this.#tab
    const fresh = tab.seen === this.#version
    const outcome = await tab.run(resume, stopAfter)
    this.#version++
    if (fresh) tab.seen = this.#version
    this.#outcomes.set(tab, outcome)
    note(what)
    note(`${fresh ? 'fresh' : 'behind'} ${outcome}`)
    this.log.push(`${what}: ${outcome}`)
  }

  #text(more = ''): string {
    return `text ${this.#below(1_000_000)} ${++this.#texts}${more}`
  }

  #add(content: string, id: string = crypto.randomUUID()): void {
    this.#tab.agent.addMessage({ id, role: 'user', content })
  }

  #say(): Promise<void> {
    this.#add(this.#text())
    return this.#request('say')
  }

  /** Stops a run somewhere, or one that would not end. */
  #stop(): Promise<void> {
    // A page that does not see the text of an answer cannot tell when to stop it.
    const endless = this.#below(2) === 0 && !this.#isInPart
    this.#add(this.#text(endless ? ` ${ENDLESS}` : ''))
    return this.#request('stop', [], endless ? undefined : 1 + this.#below(20))
  }

  /** Cuts the last answer off, or asks once more after a failure. */
  #again(): Promise<void> {
    const { agent } = this.#tab
    const last = agent.messages.findLastIndex(({ role }) => role === 'user')
    if (last < 0) return this.#say()
    if (this.#below(2)) this.#tab.cutAt(last + 1)
    return this.#request('again')
  }

  /** Cuts off the answer after the results of a turn. */
  #afterResults(): Promise<void> {
    const { agent, nested } = this.#tab
    const last = agent.messages.findLastIndex(({ id, role }) => role === 'tool' && !nested.has(id))
    const next = agent.messages[last + 1]
    // A message beside answers is after the results in the thread, and before them on the page.
    if (last < 0 || next?.role !== 'assistant' || nested.has(next.id) || this.#beside) return this.#say()
    agent.setMessages(agent.messages.slice(0, last + 1))
    return this.#request('after results')
  }

  /** Puts another text in the place of an earlier one, under its id or a new one. */
  #edit(): Promise<void> {
    const { agent } = this.#tab
    const users = agent.messages.flatMap(({ role }, i) => (role === 'user' && i > 0 ? i : []))
    const at = users[this.#below(users.length || 1)]
    if (at === undefined) return this.#say()
    const id = this.#below(2) ? (agent.messages[at] as Message).id : undefined
    this.#tab.cutAt(at)
    this.#add(this.#text(), id)
    return this.#request(id === undefined ? 'edit' : 'edit in place')
  }

  /** Takes back the messages that were not accepted, and asks what is open. */
  #lookAgain(): Promise<void> {
    const { agent } = this.#tab
    const last = agent.messages.findLastIndex(({ role }) => role !== 'user')
    agent.setMessages(agent.messages.slice(0, last + 1))
    return this.#request('look again')
  }

  /** Answers all questions, sometimes with a message beside the answers. */
  #answer(): Promise<void> {
    const { agent, waiting } = this.#tab
    const resume = agent.pendingInterrupts.map(({ id, reason }): ResumeEntry => {
      if (this.#below(5) === 0) return { interruptId: id, status: 'cancelled' }
      const payload = reason === 'tool_call' ? { approved: this.#below(3) > 0 } : 'this'
      return { interruptId: id, status: 'resolved', payload }
    })
    const beside = this.#below(2) === 0
    if (waiting.length > 0 && this.#below(2)) this.#addResults()
    if (beside) this.#add(this.#text())
    this.#beside ||= beside
    return this.#request(beside ? 'answer and say' : 'answer', resume)
  }

  #results(): Promise<void> {
    this.#addResults()
    const beside = this.#below(3) === 0
    if (beside) this.#add(this.#text())
    return this.#request(beside ? 'results and say' : 'results')
  }

  #addResults(): void {
    const { agent, waiting } = this.#tab
    for (const toolCallId of waiting) {
      agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: `red ${this.#below(100)}` })
    }
  }

  /** Compares what the last tab shows with the thread, unless it is behind. */
  async #compare(): Promise<void> {
    const tab = this.#tab
    const outcome = this.#outcomes.get(tab)
    if (tab.seen !== this.#version || outcome === 'busy' || outcome === 'rejected' || outcome === 'stopped') return
    const ref = { ...OWNER, threadId: this.#threadId }
    const rows = await desk.store.threads.messages(ref, { limit: 1_000 })
    // Messages beside answers wait with the next question.
    const { next = [] } = (await desk.store.threads.get(ref))?.checkpoint ?? {}
    const stored = toAgUiMessages([...rows.map(({ message }) => message), ...next], this.#isInPart ? LESS : {})
    const isOfStopped = (id: string) => tab.stopped.has(id) || tab.stopped.has(id.slice(0, id.indexOf('/')))
    const ignored = (id: string) => tab.nested.has(id) || isOfStopped(id) || id.endsWith('#unknown')
    const lines = (messages: readonly AgUiMessage[]) =>
      messages.flatMap((message) => (ignored(message.id) ? [] : line(message))).sort()
    note('compared')
    expect(lines(tab.messages as AgUiMessage[]), this.log.join('\n')).toEqual(lines(stored))
    const users = (messages: readonly AgUiMessage[]) => messages.flatMap(({ id, role }) => (role === 'user' ? id : []))
    expect(users(tab.messages as AgUiMessage[]), this.log.join('\n')).toEqual(users(stored))
  }
}

/** A message as one line; nothing for those that a thread does not have. */
function line(message: AgUiMessage): readonly string[] {
  if (message.role === 'reasoning' || message.role === 'activity') return []
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map((call) => call.function) : []
  return [JSON.stringify([message.id, message.role, message.content ?? '', calls])]
}

test.each(Object.keys(GENERATIONS))(
  `${RUNS} requests of random conversations pass the official client %s, which shows the thread in the end`,
  { timeout: 60_000 + RUNS * 50 },
  async (version) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    vi.spyOn(console, 'error').mockImplementation(() => {})
    let requests = 0
    for (let first = 1; requests < RUNS; first += BATCH) {
      const seeds = Array.from({ length: BATCH }, (_, i) => first + i)
      const counts = await Promise.all(
        seeds.map((seed) =>
          new Conversation(seed, version).play().catch((cause: unknown) => {
            throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause })
          }),
        ),
      )
      requests += counts.reduce((sum, count) => sum + count, 0)
    }
    expect(warn.mock.calls.map(([text]) => text)).toEqual([])
    vi.restoreAllMocks()
  },
)

test('these conversations have every kind of request and outcome', () => {
  if (process.env.SHOW) console.log([...did].sort())
  const kinds = [
    'say',
    'stop',
    'again',
    'after results',
    'edit',
    'edit in place',
    'answer',
    'answer and say',
    'results',
    'results and say',
  ]
  const outcomes = [
    'fresh success',
    'fresh interrupt',
    'fresh error',
    'fresh stopped',
    'fresh pending',
    'behind success',
    'compared',
  ]
  expect([...did.keys()]).toEqual(expect.arrayContaining([...kinds, ...outcomes]))
})

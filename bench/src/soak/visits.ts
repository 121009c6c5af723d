import { setTimeout as pause } from 'node:timers/promises'
import { expectStatus, HttpRun, type Reading } from './http-run.ts'
import type { Wish } from './soak-agent.ts'

/** Where a visit happens, and what it adds up to. */
export interface Visit {
  readonly url: string
  readonly threadId: string
  readonly sums: Sums
  readonly below: (end: number) => number
}

/** What the visits have done, to be compared with what the server has. */
export interface Sums {
  runs: number
  paid: number
  pings: number
}

/** Kinds of traffic by name. Contract: each throws if what it gets is not what it asked for, and leaves a thread that can be used. */
export const VISITS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  async talk(visit) {
    await answered(visit, { words: visit.below(60) })
  },
  async tools(visit) {
    await answered(visit, { tools: ['look', 'look'] })
  },
  async failing(visit) {
    await answered(visit, { tools: ['break', 'look'] })
  },
  async transfer(visit) {
    await answered(visit, { transfer: true, tools: ['look'] })
  },
  async thinking(visit) {
    await answered(visit, { silentMs: 250 })
  },
  async approval(visit) {
    const wish = wishOf({ tools: ['look', 'pay'] })
    const interruptId = await asked(visit, wish)
    const approved = visit.below(3) > 0
    if (approved) visit.sums.paid++
    const run = begun(visit)
    check(wish, await run.start({ resume: [{ interruptId, status: 'resolved', payload: { approved } }] }))
  },
  async unanswered(visit) {
    await asked(visit, wishOf({ tools: ['pay'] }))
  },
  async cutOff(visit) {
    const wish = wishOf({ words: 40 })
    const run = begun(visit)
    const before = await run.start({ text: JSON.stringify(wish) }, { leaveAfter: 2 + visit.below(30) })
    const after = await run.follow(before.seq)
    // The whole run may have come before the connection was closed.
    check(wish, { ...after, text: before.text + after.text, end: after.end ?? before.end })
  },
  async cancelled(visit) {
    const run = begun(visit)
    const { promise: first, resolve: onFirst } = Promise.withResolvers<void>()
    const reading = run.start({ text: JSON.stringify(wishOf({ words: 1_000 })) }, { onFirst })
    const [{ end }] = await Promise.all([reading, first.then(() => run.cancel())])
    if (outcomeOf(end)?.type !== 'cancelled') throw new Error(`expected a cancelled run, got ${JSON.stringify(end)}`)
  },
  async abandoned(visit) {
    const wish = wishOf({ words: 20 })
    await begun(visit).start({ text: JSON.stringify(wish) }, { leaveAfter: 3 })
    await idle(visit)
    const page = await expectStatus(await fetch(`${visit.url}/threads/${visit.threadId}/messages?limit=1000`), 200)
    if (!page.includes(`Done ${wish.id}`)) throw new Error(`the answer ${wish.id} was not stored`)
  },
  async reopened(visit) {
    const wish = await answered(visit, {})
    const text = await expectStatus(
      await fetch(`${visit.url}/threads/${visit.threadId}/connect?protocolVersion=1.0`),
      200,
    )
    if (!text.includes(`Done ${wish.id}`) || !text.includes('MESSAGES_SNAPSHOT')) throw new Error(`reopened: ${text}`)
  },
  async deleted(visit) {
    await answered(visit, {})
    await expectStatus(await fetch(`${visit.url}/threads/${visit.threadId}`, { method: 'DELETE' }), 204)
  },
}

/** After these a thread takes no more messages. */
export const LAST_VISITS: ReadonlySet<string> = new Set(['unanswered', 'deleted'])

async function answered(visit: Visit, wanted: Omit<Wish, 'id'>): Promise<Wish> {
  const wish = wishOf(wanted)
  const reading = await begun(visit).start({ text: JSON.stringify(wish) })
  check(wish, reading)
  visit.sums.pings += reading.pings
  return wish
}

/** Gives the id of the question. */
async function asked(visit: Visit, wish: Wish): Promise<string> {
  const { end } = await begun(visit).start({ text: JSON.stringify(wish) })
  const outcome = outcomeOf(end)
  const [question] = outcome?.type === 'interrupt' ? outcome.interrupts : []
  if (question?.reason !== 'approval') throw new Error(`expected a question, got ${JSON.stringify(end)}`)
  return question.id
}

function begun({ url, threadId, sums }: Visit): HttpRun {
  sums.runs++
  return new HttpRun(url, threadId)
}

function wishOf(wanted: Omit<Wish, 'id'>): Wish {
  return { id: crypto.randomUUID(), ...wanted }
}

function check({ id, tools = [] }: Wish, { text, end }: Reading): void {
  const answer = `Done ${id}: ${tools.length} results.`
  if (text.endsWith(answer) && outcomeOf(end)?.type === 'success') return
  throw new Error(`expected ${answer}, got ${JSON.stringify({ text, end })}`)
}

function outcomeOf(end: Reading['end']) {
  return end?.type === 'RUN_FINISHED' ? end.outcome : undefined
}

/** Until nothing runs on a thread. */
async function idle({ url, threadId }: Visit): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    const thread = JSON.parse(await expectStatus(await fetch(`${url}/threads/${threadId}`), 200)) as { runId?: string }
    if (thread.runId === undefined) return
    await pause(10)
  }
  throw new Error('a run does not end')
}

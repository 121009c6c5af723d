import { setTimeout as pause } from 'node:timers/promises'
import { expectStatus, HttpRun, type Reading } from './http-run.ts'
import type { SoakTask } from './soak-agent.ts'

/** The thread that a client visits, and the totals that it adds to. */
export interface Visit {
  readonly url: string
  readonly threadId: string
  readonly totals: Totals
  readonly below: (end: number) => number
}

/** Totals of all visits, to be compared with those of the server. */
export interface Totals {
  runs: number
  paid: number
  pings: number
}

/** Kinds of traffic by name. Contract: each throws unless it gets the expected answer, and leaves its thread usable. */
export const VISITS: Readonly<Record<string, (visit: Visit) => Promise<void>>> = {
  async talk(visit) {
    await ask(visit, { words: visit.below(60) })
  },
  async tools(visit) {
    await ask(visit, { tools: ['look', 'look'] })
  },
  async failing(visit) {
    await ask(visit, { tools: ['break', 'look'] })
  },
  async transfer(visit) {
    await ask(visit, { transfer: true, tools: ['look'] })
  },
  async thinking(visit) {
    await ask(visit, { silentMs: 250 })
  },
  async approval(visit) {
    const task = taskOf({ tools: ['look', 'pay'] })
    const interruptId = await askForApproval(visit, task)
    const approved = visit.below(3) > 0
    if (approved) visit.totals.paid++
    const run = newRun(visit)
    check(task, await run.start({ resume: [{ interruptId, status: 'resolved', payload: { approved } }] }))
  },
  async unanswered(visit) {
    await askForApproval(visit, taskOf({ tools: ['pay'] }))
  },
  async cutOff(visit) {
    const task = taskOf({ words: 40 })
    const run = newRun(visit)
    const before = await run.start({ text: JSON.stringify(task) }, { leaveAfter: 2 + visit.below(30) })
    const after = await run.follow(before.seq)
    // All events may have arrived before the connection was closed.
    check(task, { ...after, text: before.text + after.text, end: after.end ?? before.end })
  },
  async cancelled(visit) {
    const run = newRun(visit)
    const { promise: first, resolve: onFirst } = Promise.withResolvers<void>()
    const reading = run.start({ text: JSON.stringify(taskOf({ words: 1_000 })) }, { onFirst })
    const [{ end }] = await Promise.all([reading, first.then(() => run.cancel())])
    if (outcomeOf(end)?.type !== 'cancelled') throw new Error(`expected a cancelled run, got ${JSON.stringify(end)}`)
  },
  async abandoned(visit) {
    const task = taskOf({ words: 20 })
    await newRun(visit).start({ text: JSON.stringify(task) }, { leaveAfter: 3 })
    await waitUntilIdle(visit)
    const page = await expectStatus(await fetch(`${visit.url}/threads/${visit.threadId}/messages?limit=1000`), 200)
    if (!page.includes(`Done ${task.id}`)) throw new Error(`the answer ${task.id} was not stored`)
  },
  async reopened(visit) {
    const task = await ask(visit, {})
    const text = await expectStatus(
      await fetch(`${visit.url}/threads/${visit.threadId}/connect?protocolVersion=1.0`),
      200,
    )
    if (!text.includes(`Done ${task.id}`) || !text.includes('MESSAGES_SNAPSHOT')) throw new Error(`reopened: ${text}`)
  },
  async deleted(visit) {
    await ask(visit, {})
    await expectStatus(await fetch(`${visit.url}/threads/${visit.threadId}`, { method: 'DELETE' }), 204)
  },
}

/** The visits after which a thread accepts no more messages. */
export const LAST_VISITS: ReadonlySet<string> = new Set(['unanswered', 'deleted'])

async function ask(visit: Visit, asked: Omit<SoakTask, 'id'>): Promise<SoakTask> {
  const task = taskOf(asked)
  const reading = await newRun(visit).start({ text: JSON.stringify(task) })
  check(task, reading)
  visit.totals.pings += reading.pings
  return task
}

/** Returns the id of the question. */
async function askForApproval(visit: Visit, task: SoakTask): Promise<string> {
  const { end } = await newRun(visit).start({ text: JSON.stringify(task) })
  const outcome = outcomeOf(end)
  const [question] = outcome?.type === 'interrupt' ? outcome.interrupts : []
  if (question?.reason !== 'approval') throw new Error(`expected a question, got ${JSON.stringify(end)}`)
  return question.id
}

function newRun({ url, threadId, totals }: Visit): HttpRun {
  totals.runs++
  return new HttpRun(url, threadId)
}

function taskOf(asked: Omit<SoakTask, 'id'>): SoakTask {
  return { id: crypto.randomUUID(), ...asked }
}

function check({ id, tools = [] }: SoakTask, { text, end }: Reading): void {
  const answer = `Done ${id}: ${tools.length} results.`
  if (text.endsWith(answer) && outcomeOf(end)?.type === 'success') return
  throw new Error(`expected ${answer}, got ${JSON.stringify({ text, end })}`)
}

function outcomeOf(end: Reading['end']) {
  return end?.type === 'RUN_FINISHED' ? end.outcome : undefined
}

/** Waits until no run is active on a thread. */
async function waitUntilIdle({ url, threadId }: Visit): Promise<void> {
  for (let i = 0; i < 1_000; i++) {
    const thread = JSON.parse(await expectStatus(await fetch(`${url}/threads/${threadId}`), 200)) as { runId?: string }
    if (thread.runId === undefined) return
    await pause(10)
  }
  throw new Error('a run does not end')
}

import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import { type Agent, type AgentEvent, defineTool, type Store } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { scriptedModel } from '@troupe/testkit'
import { beforeAll, describe, expect, test } from 'vitest'
import { ANN, type Process, read, type World, world } from './killable.fixture.ts'

const tool = (name: string) =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: () => (name === 'fail' ? Promise.reject(new Error('no')) : `${name} is done`),
  })

/** A tool that runs an agent, and is one step as a whole. */
const consult = (adviser: Agent) =>
  defineTool({
    name: 'consult',
    description: 'Consults.',
    parameters: { type: 'object' },
    effect: 'idempotent',
    invoke: async (_, ctx) => (await runNested(adviser, 'Help.', ctx)).text,
  })

/** An agent with tools and two other agents below it, made anew for each process. */
function clerk(): Agent {
  const usage = (inputTokens: number) => ({ usage: { inputTokens, outputTokens: 1 } })
  const adviser = chatModelAgent({
    name: 'adviser',
    tools: [tool('look')],
    model: scriptedModel({
      'model:0': { toolCalls: [{ name: 'look' }], ...usage(100_000) },
      'model:1': { text: 'Advised.', ...usage(1_000_000) },
    }),
  })
  const helper = chatModelAgent({
    name: 'helper',
    description: 'Helps.',
    tools: [tool('look'), consult(adviser)],
    model: scriptedModel({
      'model:0': { toolCalls: [{ name: 'look' }, { name: 'consult' }], ...usage(10) },
      'model:1': { text: 'Helped.' },
    }),
  })
  return chatModelAgent({
    name: 'clerk',
    tools: [tool('look'), tool('fail'), agentTool(helper, { parameters: { type: 'object' } }), consult(adviser)],
    model: scriptedModel({
      'model:0': { toolCalls: [{ name: 'look' }, { name: 'fail' }], ...usage(100) },
      'model:1': { toolCalls: [{ name: 'helper' }, { name: 'consult' }], ...usage(1_000) },
      'model:2': { text: 'Done.', ...usage(10_000) },
    }),
  })
}

/** Starts a process whose records are those of a process: once it is killed, it writes nothing more. */
function start(here: World, killAt?: { readonly write: number; readonly done: boolean }) {
  let process: Process | undefined
  const records: Store['records'] = {
    ...here.store.records,
    apply: (ref, commands) =>
      process?.alive === false ? new Promise(() => {}) : here.store.records.apply(ref, commands),
  }
  const messages = messageLifecycle({ store: { records }, clock: here.clock, write: { delayMs: 1 } })
  process = here.start(clerk(), { callbacks: [messages, toolLifecycle({ messages })] }, killAt)
  return { process, messages }
}

/** Everything that was recorded, without the times. */
async function recordsOf({ store }: World) {
  const runs = await store.records.runs(ANN)
  const calls = await Promise.all(runs.map(({ runId }) => store.records.toolCalls(ANN, runId)))
  const models = await Promise.all(runs.map(({ runId }) => store.records.modelCalls(ANN, runId)))
  const timeless = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).filter(([key]) => !/(At|seq)$/.test(key)))
      : value
  const byCall = calls.flat().toSorted((a, b) => (a.callId < b.callId ? -1 : 1))
  const byStep = models
    .flat()
    .map((call) => JSON.stringify(call, timeless))
    .toSorted()
  return JSON.parse(JSON.stringify({ runs, byCall, byStep, usage: await store.records.usage(ANN) }, timeless))
}

/** Runs in a process that is killed at a write, and continues in another. */
async function killed(write: number, done: boolean) {
  const here = world()
  const one = start(here, { write, done })
  await read(one.process.runner.query('Go', { session: ANN, runId: 'R' }).eventsWithoutThrowing(), one.process)
  here.expire()
  const two = start(here)
  const again: AgentEvent[] = []
  if ((await two.process.runner.lost()).length > 0) {
    await read(two.process.runner.continue(ANN).eventsWithoutThrowing(), two.process, again)
  }
  await two.messages.flush(ANN)
  return { here, end: again.at(-1) }
}

describe('the records of a run whose process was killed and that was continued', () => {
  let alone: unknown
  let writes = 0
  beforeAll(async () => {
    const here = world()
    const { process, messages } = start(here)
    await read(process.runner.query('Go', { session: ANN, runId: 'R' }), process)
    await messages.flush(ANN)
    alone = await recordsOf(here)
    writes = here.writes.length
    expect(alone).toMatchObject({
      usage: { inputTokens: 2_211_111 },
      runs: [{ status: 'complete' }, { status: 'complete' }, { status: 'complete' }, { status: 'complete' }],
    })
  })

  test('are those of a run left alone, wherever it was killed', async () => {
    expect(writes).toBeGreaterThan(5)
    for (let write = 2; write < writes; write++) {
      for (const done of [false, true]) {
        const { here, end } = await killed(write, done)
        const usage = { inputTokens: 2_211_111 }
        expect(end, `killed at write ${write}`).toMatchObject({ type: 'run-end', runId: 'R', usage })
        expect(await recordsOf(here), `killed ${done ? 'after' : 'before'} write ${write}`).toEqual(alone)
      }
    }
  })
})

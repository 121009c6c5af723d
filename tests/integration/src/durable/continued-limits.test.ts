import { chatModelAgent } from '@troupe/chat-model'
import { agentTool } from '@troupe/flow'
import type { Agent, AgentEvent, AgentHandler, Message } from '@troupe/kernel'
import { nextMacrotask } from '@troupe/kernel/kit'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { ANN, type KillAt, read, type World, world } from './killable.fixture.ts'

const LIMIT_MS = 1_000
/** The time that a hook has to end after the limit. */
const GRACE_MS = 1_000

/** The code of the error that the lead was told about its helper. */
const toldCode = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.error?.code] : []))

interface Helper {
  readonly script?: { readonly [step: string]: ScriptedTurn }
  readonly handlers?: readonly AgentHandler[]
}

/** A lead that asks a helper with a time limit. */
function lead(
  { script = { 'model:0': HANGING }, handlers = [] }: Helper,
  limited: 'nested' | 'root' = 'nested',
): Agent {
  const limit = { runTimeoutMs: LIMIT_MS }
  const helper = chatModelAgent({
    name: 'helper',
    description: 'Helps.',
    model: scriptedModel(script),
    handlers,
    retry: false,
    ...(limited === 'nested' && limit),
  })
  return chatModelAgent({
    name: 'lead',
    model: scriptedModel({ 'model:0': { toolCalls: [{ name: 'helper' }] }, 'model:1': 'It took too long.' }),
    tools: [agentTool(helper, { parameters: { type: 'object' } })],
    retry: false,
    ...(limited === 'root' && limit),
  })
}

const HANGING: ScriptedTurn = { text: 'I thi', hang: 'mid' }

/** Lets everybody who can go on do so. */
async function calm(): Promise<void> {
  for (let i = 0; i < 30; i++) await nextMacrotask()
}

/** Runs in a process until it is killed, or everybody waits; then the time passes, if it is to. */
async function attempt(here: World, agent: Agent, passes: boolean, killAt?: KillAt) {
  const process = here.start(agent, {}, killAt)
  const isLost = (await process.runner.lost({ before: here.clock.now() + 1 })).length > 0
  const run = isLost ? process.runner.continue(ANN) : process.runner.query('Go', { session: ANN, runId: 'R' })
  const events: AgentEvent[] = []
  const reading = read(run.eventsWithoutThrowing(), process, events)
  await calm()
  for (const ms of passes ? [LIMIT_MS, GRACE_MS] : []) {
    here.clock.advance(ms)
    await calm()
  }
  const ended = events.some(({ type, runId }) => type === 'run-end' && runId === 'R')
  if (!ended) process.kill()
  await reading
  here.expire()
  return { ended, end: events.findLast(({ type }) => type === 'run-end') }
}

describe('the time limit of an agent in a run that is continued', () => {
  test('begins again, and ends the agent with the same code', async () => {
    const here = world()
    expect((await attempt(here, lead({}), false)).ended).toBe(false)
    expect((await attempt(here, lead({}), true)).end).toMatchObject({ outcome: 'complete', text: 'It took too long.' })
    expect(toldCode(await here.messages())).toEqual(['TIMEOUT'])
  })

  test('does not count the time of the process that died', async () => {
    const here = world()
    await attempt(here, lead({}), false)
    const { end } = await attempt(here, lead({ script: { 'model:0': 'I know.' } }), false)
    expect([end, toldCode(await here.messages())]).toMatchObject([{ outcome: 'complete' }, [undefined]])
  })

  test('ends a run of its own with the same code', async () => {
    const here = world()
    await attempt(here, lead({}, 'root'), false)
    const { end } = await attempt(here, lead({}, 'root'), true)
    expect(end).toMatchObject({ outcome: 'failed', error: { code: 'TIMEOUT' } })
  })

  test.each([4, 5])('is not waited for again if the agent was stopped before, killed after write %i', async (write) => {
    const here = world()
    expect((await attempt(here, lead({}), true, { write, done: false })).ended).toBe(false)
    const { end } = await attempt(here, lead({}), false)
    expect(end).toMatchObject({ outcome: 'complete', text: 'It took too long.' })
    expect(toldCode(await here.messages())).toEqual(['TIMEOUT'])
  })

  test('ends the agent again in a hook, which is not a step', async () => {
    const waits: AgentHandler = { name: 'waits', beforeModelRewriteHistory: () => new Promise<never>(() => {}) }
    const here = world()
    expect((await attempt(here, lead({ handlers: [waits] }), true, { write: 4, done: false })).ended).toBe(false)
    expect((await attempt(here, lead({ handlers: [waits] }), true)).end).toMatchObject({ outcome: 'complete' })
    expect(toldCode(await here.messages())).toEqual(['TIMEOUT'])
  })
})

import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, defineTool } from '@troupe/kernel'
import { type AuditEvent, createBus, createPolicy, defineAgent, subagentTool } from '@troupe/subagent'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ANN, type KillAt, read, type World, world } from './killable.fixture.ts'

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  kind: 'read',
  effect: 'idempotent',
  invoke: () => 'red',
})

const calling = (name: string, args: object = {}) => ({ toolCalls: [{ name, arguments: { ...args } }] })
const completing = calling('complete_task', { result: 'Done.' })

/** A lead with an agent `a`, which has an agent `b`; every call of theirs is audited. */
function office(audit: (event: AuditEvent) => void): Agent {
  const bus = createBus()
  bus.on('audit', audit)
  const { guard } = createPolicy({ bus, rules: [{ effect: 'allow' }] })
  const models = {
    lead: scriptedModel({ 'model:0': calling('a'), 'model:1': 'Done.' }),
    a: scriptedModel({ 'model:0': calling('b'), 'model:1': calling('look'), 'model:2': completing }),
    b: scriptedModel({ 'model:0': calling('look'), 'model:1': completing }),
  }
  const agent = (name: 'a' | 'b', tools: string[]) =>
    defineAgent({ name, description: name, prompt: 'Work.', query: 'Go.', input: z.object({}), model: name, tools })
  const [a, b] = [agent('a', ['look', 'b']), agent('b', ['look'])]
  const env = { factory: chatModelAgent, models, tools: [look], agents: [a, b], guard }
  const outermost = guard(subagentTool(a, env), { path: ['lead'] })
  return chatModelAgent({ name: 'lead', model: models.lead, tools: [outermost] })
}

interface Audit {
  readonly lines: string[]
  readonly events: AuditEvent[]
}

/** Runs in a process, or continues there what another has left. */
async function attempt(here: World, { lines, events }: Audit, killAt?: KillAt) {
  const process = here.start(
    (own) =>
      office((event) => {
        if (!own.alive) return
        events.push(event)
        lines.push(`${event.type} ${event.agent} ${event.tool} ${event.id}`)
      }),
    {},
    killAt,
  )
  const isLost = (await process.runner.lost()).length > 0
  const run = isLost ? process.runner.continue(ANN) : process.runner.query('Go', { session: ANN, runId: 'R' })
  await read(run.eventsWithoutThrowing(), process)
  here.clock.advance(60_000)
  return process
}

const audit = (): Audit => ({ lines: [], events: [] })

describe('the audit of a run that is continued', () => {
  test('has the events of every call once, wherever the run broke off after a step', async () => {
    const [here, alone] = [world(), audit()]
    await attempt(here, alone)
    const calls = new Set(alone.lines.map((line) => line.split(' ').slice(1).join(' ')))
    expect([calls.size, alone.lines.length]).toEqual([4, 12])
    for (let write = 2; write < here.writes.length; write++) {
      const [killed, kept] = [world(), audit()]
      await attempt(killed, kept, { write, done: true })
      await attempt(killed, kept)
      expect(kept.lines, `killed after write ${write}`).toEqual(alone.lines)
    }
  })

  test('has the whole duration of a call that was under way', async () => {
    const [here, kept] = [world(), audit()]
    await attempt(here, kept, { write: 6, done: true })
    await attempt(here, kept)
    const times = kept.events.filter(({ tool }) => tool === 'a')
    const [requested, , finished] = times
    expect(times.map(({ type }) => type)).toEqual(['requested', 'decided', 'finished'])
    expect(finished).toMatchObject({ durationMs: 60_000 })
    expect((finished?.at ?? 0) - (requested?.at ?? 0)).toBe(60_000)
  })

  test('is silent when a new message settles the run', async () => {
    const [here, kept] = [world(), audit()]
    await attempt(here, kept, { write: 6, done: true })
    const before = kept.lines.length
    const process = here.start(
      office((event) => void kept.lines.push(event.type)),
      { pending: 'drop' },
    )
    await read(process.runner.query('Hello', { session: ANN, runId: 'R2' }).eventsWithoutThrowing(), process)
    const since = kept.lines.slice(before)
    expect(since.filter((type) => type === 'requested')).toHaveLength(4)
    expect(since).toHaveLength(12)
  })
})

import type { AgentEvent, Json, ModelRequest, Usage } from '@troupe/kernel'
import { addUsage, NO_USAGE, notJson } from '@troupe/kernel/kit'
import type { ScriptedTurn } from '@troupe/testkit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AgentLimits } from '../define/agent-limits.ts'
import { agent, calling, type LeadHarness, leadHarness } from '../lead.fixture.ts'
import { tool } from '../subagent.fixture.ts'
import type { SubagentStatus } from './subagent-status.ts'

const AGENTS = ['a', 'b', 'c']
const TOOLS = ['look', 'ask', 'fail']

/** What a model does when it is asked. */
type Move = {
  readonly does: 'call' | 'complete' | 'blank' | 'twice' | 'talk' | 'break'
  readonly names: readonly string[]
  readonly tokens: number
}

const move: fc.Arbitrary<Move> = fc.record({
  does: fc.oneof(
    { weight: 6, arbitrary: fc.constant('call' as const) },
    {
      weight: 4,
      arbitrary: fc.constantFrom(
        'complete' as const,
        'blank' as const,
        'twice' as const,
        'talk' as const,
        'break' as const,
      ),
    },
  ),
  names: fc.array(fc.constantFrom(...AGENTS, ...TOOLS, 'nobody'), { minLength: 1, maxLength: 3 }),
  tokens: fc.integer({ min: 0, max: 20 }),
})
const maybe = (min: number, max: number) => fc.option(fc.integer({ min, max }), { nil: undefined })
const limits = fc.record({
  maxTurns: fc.integer({ min: 1, max: 4 }),
  maxTokens: maybe(1, 60),
  maxToolCalls: maybe(1, 6),
  maxDepth: maybe(1, 3),
})
const world = fc.record({
  limits: fc.tuple(limits, limits, limits),
  tools: fc.tuple(...AGENTS.map(() => fc.subarray([...AGENTS, ...TOOLS]))),
  lead: fc.array(fc.constantFrom(...AGENTS), { minLength: 1, maxLength: 2 }),
  moves: fc.array(move, { maxLength: 40 }),
})

/** What was seen of one call, by the events alone. */
interface Seen {
  readonly name: string
  readonly above: readonly string[]
  readonly status: SubagentStatus
  readonly end: AgentEvent & { type: 'tool-end' }
  readonly turns: number
  readonly usage: Usage
  readonly ran: number
  readonly outputs: readonly Json[]
}

function seenIn(events: readonly AgentEvent[]): ReadonlyMap<string, Seen> {
  const parentOf = new Map<string, string | undefined>()
  for (const event of events) if (event.type === 'tool-start') parentOf.set(event.callId, event.parentCallId)
  const above = (callId: string): string[] => {
    const parent = parentOf.get(callId)
    return parent === undefined ? [] : [parent, ...above(parent)]
  }
  const seen = new Map<string, Seen>()
  for (const end of events) {
    if (end.type !== 'tool-end' || !AGENTS.includes(end.name) || end.data === undefined) continue
    const own = events.filter(({ parentCallId }) => parentCallId === end.callId)
    const messages = own.flatMap((event) => (event.type === 'message-end' ? [event] : []))
    const answered = own.flatMap((event) => (event.type === 'tool-end' ? [event] : []))
    const refused = (event: (typeof answered)[number]) =>
      event.error?.code === 'TOOL_UNKNOWN' || (event.error?.code === 'SUBAGENT_LIMIT' && event.data === undefined)
    seen.set(end.callId, {
      name: end.name,
      above: above(end.callId),
      status: end.data as unknown as SubagentStatus,
      end,
      turns: messages.length,
      usage: messages.reduce((sum, { usage }) => addUsage(sum, usage ?? NO_USAGE), NO_USAGE),
      ran: answered.filter((event) => event.name !== 'complete_task' && !refused(event)).length,
      outputs: answered.flatMap(({ name, error, data }) =>
        name === 'complete_task' && !error ? [(data as { output: Json }).output] : [],
      ),
    })
  }
  return seen
}

const tokensOf = ({ inputTokens, outputTokens }: Usage) => inputTokens + outputTokens

/** Makes the turns of all models: each takes the next move, and completes when there are none left. */
function scriptOf(moves: readonly Move[]): (request: ModelRequest) => ScriptedTurn {
  let calls = 0
  let next = 0
  const id = () => `c${++calls}`
  const result = (text: string) => ({ id: id(), name: 'complete_task', arguments: { result: text } })
  return ({ tools: shown }) => {
    const { does, names, tokens } = moves[next++] ?? { does: 'complete', names: [], tokens: 1 }
    const usage = { inputTokens: tokens, outputTokens: 0 }
    switch (does) {
      case 'talk':
        return { text: 'Hm.', usage }
      case 'break':
        return { error: { at: 'before', error: new Error('broken') } }
      case 'complete':
        return { ...calling(result(`r${next}`)), usage }
      case 'blank':
        return { ...calling(result(' ')), usage }
      case 'twice':
        return { ...calling(result(`r${next}`), result('late')), usage }
      case 'call':
        expect(shown.length).toBeGreaterThan(0)
        return { ...calling(...names.map((name) => ({ id: id(), name, arguments: { task: 't' } }))), usage }
    }
  }
}

/** Runs the lead and answers all questions until it ends. */
async function eventsUntilEnd(harness: LeadHarness): Promise<readonly AgentEvent[]> {
  let recording = await harness.run()
  const events = [...recording.events]
  for (let round = 0; recording.asked.length > 0; round++) {
    expect(round).toBeLessThan(50)
    recording = await harness.resume(Object.fromEntries(recording.asked.map((id) => [id, 'yes'])))
    events.push(...recording.events)
  }
  expect([recording.end?.outcome, harness.clock.pending]).toEqual(['complete', 0])
  return events
}

test('limits are reported honestly in random trees of agents that call each other, ask, fail and run out (property)', async () => {
  const reasons = new Map<string, number>()
  await fc.assert(
    fc.asyncProperty(world, async ({ limits: all, tools, lead, moves }) => {
      const limitsOf = new Map(AGENTS.map((name, i) => [name, dropped(all[i] as AgentLimits)]))
      const script = scriptOf(moves)
      const harness = leadHarness({
        agents: AGENTS.map((name, i) =>
          agent(name, { tools: tools[i] as string[], limits: limitsOf.get(name) as AgentLimits }),
        ),
        tools: [
          tool('look'),
          tool('ask', { invoke: async (_, ctx) => `${await ctx.interrupt({ reason: 'input' })}` }),
          tool('fail', { invoke: () => Promise.reject(new Error('failed')) }),
        ],
        scripts: {
          ...Object.fromEntries(AGENTS.map((name) => [name, Array(200).fill(script)])),
          lead: [calling(...lead.map((name, i) => ({ id: `lead${i}`, name, arguments: { task: 't' } }))), 'Done.'],
        },
      })
      const seen = seenIn(await eventsUntilEnd(harness))
      expect([...seen.keys()].filter((id) => id.startsWith('lead'))).toHaveLength(lead.length)
      for (const [callId, one] of seen) {
        reasons.set(one.status.reason, (reasons.get(one.status.reason) ?? 0) + 1)
        check(callId, one, seen, limitsOf)
      }
    }),
    { seed: 17, numRuns: 400 },
  )
  expect([...reasons.keys()].sort()).toEqual(['depth', 'error', 'goal', 'max-tokens', 'max-tool-calls', 'max-turns'])
}, 60_000)

function check(
  callId: string,
  one: Seen,
  seen: ReadonlyMap<string, Seen>,
  limitsOf: ReadonlyMap<string, AgentLimits>,
): void {
  const { name, status, end, above } = one
  const about = `${callId} ${name} ${JSON.stringify(status)}`
  const own = limitsOf.get(name) as AgentLimits
  const below = [...seen.values()].filter((other) => other.above.includes(callId))
  const sum = (list: readonly Seen[]) => list.reduce((total, { usage }) => addUsage(total, usage), NO_USAGE)
  expect(notJson(status), about).toBeUndefined()
  // What it says of itself is what was seen.
  expect([status.turns, status.usage, status.toolCalls], about).toEqual([one.turns, one.usage, one.ran])
  expect(status.childrenUsage, about).toEqual(sum(below))
  expect(one.outputs.length, about).toBeLessThanOrEqual(1)
  expect(status.output, about).toEqual(one.outputs[0])
  // Success is success, and nothing else is.
  const delivered = status.reason === 'goal' || status.recovered
  expect(status.recovered && status.output === undefined, about).toBe(false)
  expect([end.status, status.error === undefined], about).toEqual(delivered ? ['complete', true] : ['failed', false])
  if (status.reason === 'goal') expect(status.output, about).toBeDefined()
  // A limit that is reported was hit, and one that was hit is reported.
  const { maxTurns = 0 } = own
  expect(status.turns, about).toBeLessThanOrEqual(maxTurns + 1)
  if (status.turns > maxTurns) expect(status.reason !== 'goal' || status.recovered, about).toBe(true)
  if (status.reason === 'max-turns') expect(status.turns, about).toBeGreaterThanOrEqual(maxTurns)
  const line = [one, ...above.map((id) => seen.get(id)).filter((other) => other !== undefined)]
  const bounds = line.map(({ name }) => limitsOf.get(name) as AgentLimits)
  if (status.reason === 'max-tokens') {
    expect(
      bounds.some(({ maxTokens = Infinity }, i) => totalTokens(line[i] as Seen) >= maxTokens),
      about,
    ).toBe(true)
  }
  if (status.reason === 'max-tool-calls') {
    expect(
      bounds.some(({ maxToolCalls }) => maxToolCalls !== undefined),
      about,
    ).toBe(true)
  }
  const ran = [one, ...below].reduce((total, { status: { toolCalls } }) => total + toolCalls, 0)
  expect(ran, about).toBeLessThanOrEqual(own.maxToolCalls ?? Infinity)
  const levels = bounds.map(({ maxDepth = 3 }, i) => i + 1 <= maxDepth)
  expect(status.reason === 'depth', about).toBe(levels.includes(false))
}

function totalTokens({ status }: Seen): number {
  return tokensOf(status.usage) + tokensOf(status.childrenUsage)
}

function dropped(limits: AgentLimits): AgentLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined))
}

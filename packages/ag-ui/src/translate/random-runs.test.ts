import { EventType } from '@ag-ui/core'
import {
  type AgentEvent,
  type AgentInput,
  type JsonObject,
  KernelError,
  type Message,
  type ResumeInfo,
} from '@troupe/kernel'
import { messageOf } from '@troupe/kernel/history'
import { startRun } from '@troupe/kernel/run'
import { expect, test, vi } from 'vitest'
import { clientOf, follower, official, official0 } from '../pipeline.fixture.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import { type Random, randomOf } from './random.fixture.ts'
import { randomAgent } from './random-agent.fixture.ts'
import { toAgUiMessages } from './to-ag-ui-messages.ts'

const RUNS = Number(process.env.RUNS ?? 500)
const BATCH = 50
/** The events of all runs, to check that they cover the protocol. */
const SEEN = new Set<string>()
const STATE: JsonObject = { plan: { steps: ['a'] }, 'temp:x': 1, secret: 'internal' }
const USER: Message = { id: 'u1', role: 'user', content: 'Go.' }

const OPTIONS = { state: STATE, hidden: (key: string) => key === 'secret', clientTools: new Set(['browser']) }

/** A run: the messages before it, the kernel's events and the client's events. */
interface RandomRun {
  readonly past: readonly AgUiMessage[]
  readonly kernelEvents: readonly AgentEvent[]
  readonly events: readonly AgUiEvent[]
}

/** Runs a random agent, which may be stopped at a random event, with a client that follows it. */
async function randomRun(
  random: Random,
  misbehaves: boolean,
  start: AgentInput | ResumeInfo,
  runId: string,
): Promise<RandomRun> {
  const controller = new AbortController()
  const past = toAgUiMessages(start.messages)
  const client = follower({ ...OPTIONS, history: past })
  const kernelEvents: AgentEvent[] = []
  const limit = random.chance(0.15) ? 1 + random.below(30) : Number.POSITIVE_INFINITY
  const reason = random.pick([new Error('stop'), new KernelError('TIMEOUT', 'secret: slow')])
  const stop = () => controller.abort(reason)
  const agent = randomAgent(random, 'root', { misbehaves, onHang: () => queueMicrotask(stop) })
  const settings = { runId, state: STATE, canInterrupt: true, signal: controller.signal, report: () => {} }
  for await (const event of startRun(agent, start, settings).eventsWithoutThrowing()) {
    kernelEvents.push(event)
    client.take(event)
    if (kernelEvents.length >= limit) stop()
  }
  return { past, kernelEvents, events: client.end() }
}

async function check({ events }: RandomRun): Promise<void> {
  for (const event of events) {
    SEEN.add(event.type === EventType.RUN_FINISHED ? `${event.type} ${event.outcome?.type}` : event.type)
  }
  expect(await official(events)).toEqual(events)
  expect(await official0(events)).toHaveLength(events.length)
  expect(JSON.stringify(events)).not.toMatch(/secret|internal|temp:/)
}

async function runAndCheck(seed: number, misbehaves: boolean): Promise<void> {
  const random = randomOf(seed)
  const first = await randomRun(random, misbehaves, { messages: [USER] }, 'R1')
  await check(first)
  const end = first.kernelEvents.at(-1)
  if (misbehaves || end?.type !== 'run-end') return
  const added = first.kernelEvents.flatMap((event) => (event.runId === 'R1' ? (messageOf(event) ?? []) : []))
  const history = [USER, ...added]
  if (seed % 10 === 0 && (end.outcome === 'complete' || end.outcome === 'interrupted')) {
    const { messages } = await clientOf(first.events, first.past)
    const [shown, stored] = [briefly(messages), briefly(toAgUiMessages(history))]
    expect(shown.filter(isNotReasoning)).toEqual(stored.filter(isNotReasoning))
    // Clients keep the reasoning of a failed attempt if no other attempt follows.
    expect(shown).toEqual(expect.arrayContaining([...stored]))
  }
  if (end.outcome !== 'interrupted') return
  const answers = Object.fromEntries((end.interrupts ?? []).map(({ id }) => [id, true]))
  const resumed = await randomRun(random, false, { messages: history, state: 1, answers }, 'R2')
  await check(resumed)
}

/** The messages of the root agent as lines; the order of parallel ones may differ. */
function briefly(messages: readonly AgUiMessage[]): readonly string[] {
  return messages
    .filter(({ subagentRunId, role }) => subagentRunId === undefined && role !== 'activity')
    .map((message) => {
      const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
      return JSON.stringify([message.id, message.role, message.content ?? '', calls])
    })
    .sort()
}

function isNotReasoning(line: string): boolean {
  return !line.includes('"reasoning",')
}

for (const [kind, misbehaves] of [
  ['agents', false],
  ['misbehaving agents', true],
] as const) {
  test(`${RUNS} random runs of ${kind} pass the official pipelines and the strict verifier`, {
    timeout: 900_000,
  }, async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    for (let first = 0; first < RUNS; first += BATCH) {
      const seeds = Array.from({ length: Math.min(BATCH, RUNS - first) }, (_, i) => first + i)
      await Promise.all(
        seeds.map((seed) =>
          runAndCheck(seed, misbehaves).catch((cause: unknown) => {
            throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause })
          }),
        ),
      )
    }
    expect(warn.mock.calls.map(([text]) => text)).toEqual([])
    warn.mockRestore()
  })
}

/** Events that the translator never writes. */
const UNUSED: readonly string[] = [
  'TEXT_MESSAGE_CHUNK',
  'TOOL_CALL_CHUNK',
  'REASONING_MESSAGE_CHUNK',
  'RAW',
  'RUN_FINISHED',
]

test('these runs have every event and every outcome', () => {
  const types = Object.values(EventType).filter((type) => !UNUSED.includes(type))
  const outcomes = ['success', 'interrupt', 'cancelled'].map((outcome) => `RUN_FINISHED ${outcome}`)
  expect([...SEEN].sort()).toEqual([...types, ...outcomes].sort())
})

import { EventType } from '@ag-ui/core'
import { messageOf } from '@troupe/kernel/history'
import { expect, test, vi } from 'vitest'
import { clientOf, official, official0 } from '../pipeline.fixture.ts'
import type { AgUiMessage } from '../protocol.ts'
import { randomOf } from './random.fixture.ts'
import { type RandomRun, randomRun, USER, viewOf } from './random-run.fixture.ts'
import { toAgUiMessages } from './to-ag-ui-messages.ts'

const RUNS = Number(process.env.RUNS ?? 500)
const BATCH = 50
/** The events of all runs, to check that they cover the protocol. */
const SEEN = new Set<string>()
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
  const view = viewOf(seed)
  const first = await randomRun(random, misbehaves, { messages: [USER] }, 'R1', view)
  await check(first)
  const end = first.kernelEvents.at(-1)
  if (misbehaves || end?.type !== 'run-end') return
  const added = first.kernelEvents.flatMap((event) => (event.runId === 'R1' ? (messageOf(event) ?? []) : []))
  const history = [USER, ...added]
  if (seed % 5 < 2 && (end.outcome === 'complete' || end.outcome === 'interrupted')) {
    const { messages } = await clientOf(first.events, first.past)
    const [shown, stored] = [briefly(messages), briefly(toAgUiMessages(history, view))]
    expect(shown.filter(isNotReasoning)).toEqual(stored.filter(isNotReasoning))
    // Clients keep the reasoning of a failed attempt if no other attempt follows.
    expect(shown).toEqual(expect.arrayContaining([...stored]))
  }
  if (end.outcome !== 'interrupted') return
  const answers = Object.fromEntries((end.interrupts ?? []).map(({ id }) => [id, true]))
  const resumed = await randomRun(random, false, { messages: history, state: 1, answers }, 'R2', view)
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

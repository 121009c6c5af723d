import type { AgentEvent, Message } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { expect, test, vi } from 'vitest'
import { official } from '../pipeline.fixture.ts'
import type { AgUiEvent } from '../protocol.ts'
import { runWriter } from '../write/run-writer.ts'
import { eventTranslator } from './event-translator.ts'
import { type Random, randomOf } from './random.fixture.ts'
import { randomAgent } from './random-agent.fixture.ts'
import { toAgUiMessages } from './to-ag-ui-messages.ts'

const RUNS = 300
const STAMP = ['runId', 'agentName', 'runPath', 'parentRunId', 'parentCallId', 'origin']
const messages: readonly Message[] = [{ id: 'u1', role: 'user', content: 'Go.' }]

async function eventsOf(random: Random): Promise<AgentEvent[]> {
  const controller = new AbortController()
  const onHang = () => queueMicrotask(() => controller.abort(new Error('stop')))
  const agent = randomAgent(random, 'root', { misbehaves: true, onHang })
  const settings = { runId: 'R1', canInterrupt: true, signal: controller.signal, report: () => {} }
  const events: AgentEvent[] = []
  for await (const event of startRun(agent, { messages }, settings).eventsWithoutThrowing()) events.push(event)
  return events
}

/** The events of a client, without anything between the translator and it. */
function translated(events: readonly AgentEvent[]): AgUiEvent[] {
  const options = { threadId: 't1', runId: 'r1', state: {}, clientTools: new Set(['browser']) }
  const translator = eventTranslator({ ...options, history: toAgUiMessages(messages) })
  return [...events.flatMap((event) => translator.translate(event)), ...translator.end()]
}

/** Changes one value of an event to something that it must not be; its stamp is the Runner's own. */
function spoiled(event: AgentEvent, random: Random): AgentEvent {
  const key = random.pick(Object.keys(event).filter((name) => !STAMP.includes(name)))
  const wrong: unknown = random.pick([undefined, null, 7, '', [null], { content: [null] }])
  return { ...event, [key]: wrong } as AgentEvent
}

const breaks: Record<string, (events: AgentEvent[], random: Random) => AgentEvent[]> = {
  'are lost': (events, random) => events.filter(() => !random.chance(0.2)),
  'come twice': (events, random) => events.flatMap((event) => (random.chance(0.2) ? [event, event] : [event])),
  'come in another order': (events, random) => {
    for (let i = events.length - 1; i > 0; i--) {
      const other = random.chance(0.3) ? random.below(i + 1) : i
      ;[events[i], events[other]] = [events[other] as AgentEvent, events[i] as AgentEvent]
    }
    return events
  },
  'are cut off': (events, random) => events.slice(0, random.below(events.length)),
  'are spoiled': (events, random) => events.map((event) => (random.chance(0.2) ? spoiled(event, random) : event)),
}

test.each(Object.keys(breaks))(
  'if events %s, clients get a legal stream, and a writer has nothing to change',
  async (how) => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    for (let seed = 0; seed < RUNS; seed++) {
      const random = randomOf(seed)
      const events = translated(breaks[how]?.(await eventsOf(random), random) ?? [])
      const refused: unknown[] = []
      const writer = runWriter({ onRefused: (event, reason) => refused.push([event, reason]) })
      expect([seed, [...writer.writeAll(events), ...writer.end()], refused]).toEqual([seed, events, []])
      // A spoiled value, such as a name that is a number, is passed on as it is.
      if (how !== 'are spoiled') expect(await official(JSON.parse(JSON.stringify(events)))).toHaveLength(events.length)
    }
    warn.mockRestore()
  },
)

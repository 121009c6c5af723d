import {
  type AgentEvent,
  type AgentInput,
  type JsonObject,
  KernelError,
  type Message,
  type ResumeInfo,
} from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { follower } from '../pipeline.fixture.ts'
import type { AgUiEvent, AgUiMessage } from '../protocol.ts'
import type { Omissible } from './left-out.ts'
import type { Random } from './random.fixture.ts'
import { randomAgent } from './random-agent.fixture.ts'
import { type MessageOptions, toAgUiMessages } from './to-ag-ui-messages.ts'

/** The message that every run begins with. */
export const USER: Message = { id: 'u1', role: 'user', content: 'Go.' }

const STATE: JsonObject = { plan: { steps: ['a'] }, 'temp:x': 1, secret: 'internal' }
const OPTIONS = { state: STATE, hidden: (key: string) => key === 'secret' }
const OMISSIBLE: readonly Omissible[] = ['reasoning', 'activities', 'subagents', 'structured-output']

/** How a client sees a run and its history. */
export type RandomView = Pick<MessageOptions, 'omit' | 'clientToolPrefix'>

/** A view for each seed: every second one is the whole run, the others leave something out. */
export function viewOf(seed: number): RandomView {
  const omit = OMISSIBLE.filter((_, i) => seed % 2 === 0 && (seed >> (i + 1)) % 2 === 1)
  return { ...(omit.length > 0 && { omit }), ...(seed % 3 === 0 && { clientToolPrefix: 'page_' }) }
}

/** A run: the messages before it, the kernel's events and the client's events. */
export interface RandomRun {
  readonly past: readonly AgUiMessage[]
  readonly kernelEvents: readonly AgentEvent[]
  readonly events: readonly AgUiEvent[]
}

/** Runs a random agent, which may be stopped at a random event, with a client that follows it. */
export async function randomRun(
  random: Random,
  misbehaves: boolean,
  start: AgentInput | ResumeInfo,
  runId: string,
  view: RandomView,
): Promise<RandomRun> {
  const controller = new AbortController()
  const { omit, clientToolPrefix } = view
  const past = toAgUiMessages(start.messages, view)
  const client = follower({
    ...OPTIONS,
    history: past,
    clientTools: new Set([clientToolPrefix === undefined ? 'page_browser' : 'browser']),
    ...(clientToolPrefix !== undefined && { clientToolPrefix }),
    ...(omit && { show: { omit } }),
  })
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

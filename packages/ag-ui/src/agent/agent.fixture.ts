import { EventType, type RunAgentInput } from '@ag-ui/core'
import { type Agent, type KernelError, type Store, say, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FakeClock, fakeClock } from '@troupe/testkit'
import type { AgUiEvent } from '../protocol.ts'
import type { AgUiRunOptions } from '../run/served-agent.ts'
import { strictVerifier } from '../verify.ts'
import { AgUiAgent } from './ag-ui-agent.ts'
import type { AgUiAgentOptions } from './agent-settings.ts'
import { smallRunner } from './small-runner.fixture.ts'

export const ANN: ThreadRef = { app: 'test', user: 'ann', threadId: 't1' }

/** An agent from a function. */
export function agentOf(run: Agent['run'], name: string = 'desk'): Agent {
  return { name, description: 'For tests.', acceptsAdditions: true, run }
}

/** Repeats the last message. */
export const echo: Agent = agentOf(({ messages }, ctx) => say(ctx, `heard ${String(messages.at(-1)?.content)}`))

/** Writes one message, then waits until it is stopped. */
export const stuck: Agent = agentOf(async function* (_, ctx) {
  yield* say(ctx, 'wait')
  await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
})

export interface Stage {
  readonly agent: AgUiAgent
  readonly clock: FakeClock
  readonly store: Store
  readonly reports: KernelError[]
  /** Serves a request and reads it to its end, verified. */
  serve(input: Partial<RunAgentInput>, options?: AgUiRunOptions): Promise<AgUiEvent[]>
  /** Another agent on the same store, as in another process. */
  other(options?: Partial<AgUiAgentOptions>): AgUiAgent
}

export function stage(given: Agent = echo, options: Partial<AgUiAgentOptions> = {}): Stage {
  const clock = fakeClock()
  const store = memoryStore({ clock })
  const reports: KernelError[] = []
  const make = (more: Partial<AgUiAgentOptions> = {}) => {
    const all = { ...options, ...more }
    return new AgUiAgent({
      ...(!all.resolveRunner && { runner: smallRunner(given, store, clock) }),
      store,
      clock,
      appName: 'test',
      userId: 'ann',
      report: (error) => void reports.push(error),
      ...all,
    })
  }
  const agent = make()
  return {
    agent,
    clock,
    store,
    reports,
    serve: (input, runOptions) => collect(agent.run(request(input), runOptions)),
    other: make,
  }
}

let requests = 0

/** A request with the required fields. */
export function request(input: Partial<RunAgentInput>): RunAgentInput {
  return { threadId: 't1', runId: `run-${++requests}`, messages: [], tools: [], context: [], ...input }
}

export function user(content: string, id: string = `u-${content}`): RunAgentInput['messages'][number] {
  return { id, role: 'user', content }
}

/** Reads a stream to its end. Contract: fails at the first event that a correct stream never has. */
export async function collect(source: AsyncIterable<AgUiEvent>): Promise<AgUiEvent[]> {
  const verifier = strictVerifier()
  const events: AgUiEvent[] = []
  for await (const event of source) {
    verifier.see(event)
    events.push(event)
  }
  verifier.end()
  return events
}

export function types(events: readonly AgUiEvent[]): readonly EventType[] {
  return events.map(({ type }) => type)
}

export function textIn(events: readonly AgUiEvent[]): string {
  return events.map((event) => (event.type === EventType.TEXT_MESSAGE_CONTENT ? event.delta : '')).join('')
}

/** The code of a RUN_ERROR, or how the run was finished. */
export function endOf(events: readonly AgUiEvent[]): string | undefined {
  const last = events.at(-1)
  if (last?.type === EventType.RUN_ERROR) return last.code
  return last?.type === EventType.RUN_FINISHED ? last.outcome?.type : undefined
}

/** Waits until everything has happened that needs no time. */
export async function calm(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

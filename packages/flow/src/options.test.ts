import type { Agent, ContinueRequest, LostQuery, RunInput } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { testOptions } from '@troupe/testkit'
import { describe, expect, test } from 'vitest'
import { talker, user } from './flow.fixture.ts'
import {
  type AgentToolOptions,
  agentTool,
  agentWithOptions,
  type BreakLoopToolOptions,
  breakLoopTool,
  type FlowOptions,
  type FlowRequest,
  type LoopOptions,
  loop,
  type ParallelOptions,
  type PlanExecuteOptions,
  parallel,
  planExecute,
  type RewriteOptions,
  type RunnerLimits,
  type RunnerOptions,
  rewriteHistory,
  runner,
  type SupervisorOptions,
  sequential,
  supervisor,
  type WorkflowOptions,
} from './index.ts'

const agents = (): readonly Agent[] => [talker('one'), talker('two')]
const limits: Required<RunnerLimits> = {
  runMs: 1000,
  idleMs: 1000,
  runChars: 1,
  transfers: 1,
  cancelMs: 1,
  queueMs: 1,
  leaseMs: 1,
  pollMs: 1,
  keptChars: 1,
}
const options: Required<RunnerOptions> = {
  agent: talker('one'),
  store: memoryStore(),
  callbacks: [],
  limits,
  durability: 'step',
  unknownCalls: 'ask',
  wrapJournal: (journal) => journal,
  history: { last: 1 },
  busy: 'queue',
  pending: 'drop',
  clock: systemClock,
  report: () => {},
}
const workflow: Required<WorkflowOptions> = { name: 'w', description: 'd', agents: agents() }
const looping: Required<LoopOptions> = { ...workflow, maxIterations: 2 }
const atOnce: Required<ParallelOptions> = { ...workflow, onError: 'continue' }
const [planner, executor, replanner] = ['p', 'e', 'r'].map((name) => talker(name)) as [Agent, Agent, Agent]
const plan: Required<PlanExecuteOptions> = {
  name: 'x',
  description: 'd',
  planner,
  executor,
  replanner,
  maxIterations: 2,
}
const asTool: Required<AgentToolOptions> = {
  name: 'n',
  description: 'd',
  parameters: { type: 'object' },
  forward: true,
  history: true,
}
const inTree: Required<FlowOptions> = {
  disallowTransferToParent: true,
  historyRewriter: (messages) => messages,
  skipTransferMessages: true,
}
const lead = talker('lead')
const led: Required<SupervisorOptions> = { supervisor: lead, agents: [] }

testOptions<RunnerOptions>('runner', runner, options)
testOptions('its limits', (some: RunnerLimits) => runner({ agent: talker('a'), limits: some }), limits)
testOptions<WorkflowOptions>('sequential', sequential, workflow)
testOptions<LoopOptions>('loop', loop, looping)
testOptions<ParallelOptions>('parallel', parallel, atOnce)
testOptions<PlanExecuteOptions>('planExecute', planExecute, plan)
testOptions<SupervisorOptions>('supervisor', supervisor, led)
testOptions('agentTool', (some: AgentToolOptions) => agentTool(talker('a'), some), asTool)
testOptions<BreakLoopToolOptions>('breakLoopTool', breakLoopTool, { name: 'n', description: 'd' })
testOptions('agentWithOptions', (some: FlowOptions) => agentWithOptions(talker('a'), some), inTree)
testOptions('rewriteHistory', (some: RewriteOptions) => rewriteHistory([], 'a', some), { skipTransferMessages: true })

const session = { app: 'app', user: 'ann', threadId: 't1' }
const request = (): Required<FlowRequest> => ({
  session,
  runId: 'r1',
  timeoutMs: 60_000,
  signal: new AbortController().signal,
  pending: 'drop',
  prepare: (ctx) => ctx,
  carry: { a: 1 },
  busy: 'reject',
})
const input: Required<RunInput> = {
  messages: [user()],
  additions: {},
  options: {},
  state: {},
  processed: [],
}
const { messages: _, ...settings } = input
const fresh = () => runner({ agent: talker('a') })

testOptions('run', (some: FlowRequest) => fresh().run('Hi', some), request())
testOptions('query', (some: FlowRequest) => fresh().query('Hi', some), request())
testOptions('what is run', (some: RunInput) => fresh().run(some, { session }), input)
testOptions(
  'resume',
  (some: FlowRequest & Omit<RunInput, 'messages'>) =>
    void fresh()
      .resume({}, { session, ...some })
      .catch(() => {}),
  { ...request(), ...settings },
)
const continuing: Required<ContinueRequest> = {
  runId: 'r1',
  signal: new AbortController().signal,
  timeoutMs: 60_000,
  busy: 'reject',
  restore: () => ({}),
  shown: [],
  again: true,
}
testOptions(
  'continue',
  (some: ContinueRequest) =>
    void fresh()
      .continue(session, some)
      .catch(() => {}),
  continuing,
)
testOptions('lost', (some: LostQuery) => fresh().lost(some), { before: 1, limit: 10 })
testOptions('cancel', (some: { mode?: 'now'; runId?: string }) => fresh().cancel(session, some), {
  mode: 'now',
  runId: 'r1',
})

describe('what was meant', () => {
  test.each<[() => unknown, string]>([
    [() => fresh().run('Hi', { threadId: 't1' } as never), 'run: unknown option threadId; did you mean session?'],
    [() => fresh().run('Hi', { abortSignal: 1 } as never), 'run: unknown option abortSignal; did you mean signal?'],
    [() => runner(talker('a') as never), 'runner: unknown option name; known are agent, store'],
    [
      () => runner({ agent: talker('a'), callbacks: [{ name: 'c', model: { onStop() {} } } as never] }),
      'callback c: model: unknown hook onStop; did you mean onEnd?',
    ],
    [
      () => sequential({ name: 'w', steps: agents() } as never),
      'sequential w: unknown option steps; did you mean agents?',
    ],
    [() => loop(undefined as never), 'loop: expected an object of options, got undefined'],
    [() => planExecute({ planer: 1 } as never), 'planExecute: unknown option planer; did you mean planner?'],
    [() => runner(undefined as never), 'runner: expected an object of options, got undefined'],
    [() => supervisor(undefined as never), 'supervisor: expected an object of options, got undefined'],
  ])('%s', (work, message) => {
    expect(work).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }))
  })
})

import { memoryStore } from '@troupe/kernel/memory-store'
import { fakeClock, testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import { smallRunner } from './agent/small-runner.fixture.ts'
import {
  AgUiAgent,
  type AgUiAgentOptions,
  type AgUiHandlerOptions,
  agUiHandler,
  eventTranslator,
  type HttpLimits,
  type InputLimits,
  type MessageOptions,
  type RunErrorOptions,
  type RunWriterOptions,
  runError,
  runWriter,
  SessionManager,
  type SessionManagerOptions,
  type TranslatorOptions,
  toAgUiMessages,
} from './index.ts'
import { type AgUiServerOptions, agUiServer } from './node.ts'
import { strictVerifier } from './verify.ts'

const store = memoryStore()
const clock = fakeClock()
const runner = smallRunner({ name: 'a', description: '', async *run() {} }, store, clock)
const limits: Required<InputLimits> = { newChars: 1, stateBytes: 1, depth: 1, idLength: 1, tools: 1, patternLength: 1 }
const transport: Required<HttpLimits> = {
  bodyBytes: 1,
  keepAliveMs: 1,
  drainMs: 1,
  lookMs: 1,
  detachedMs: 1,
  streamsPerUser: 1,
  pageChars: 1,
}
const sessions: Required<SessionManagerOptions> = {
  store,
  sessionTimeoutMs: 1,
  maxPendingMs: 1,
  runLogMs: 1,
  sweepIntervalMs: 1,
  maxSessionsPerUser: 1,
  apps: [],
  memory: { add: async () => {} },
  memoryTimeoutMs: 1,
  clock,
  report: () => {},
}
type Instead = 'resolveRunner' | 'appNameExtractor' | 'userIdExtractor'
const agent: Required<Omit<AgUiAgentOptions, Instead>> = {
  runner,
  store,
  appName: 'demo',
  userId: 'ann',
  runConfigFactory: () => ({}),
  executionTimeoutMs: 1,
  toolTimeoutMs: 1,
  maxConcurrentExecutions: 1,
  maxExecutionsPerUser: 1,
  toolResults: 'json',
  systemMessages: 'instruction',
  clientState: 'patch',
  edits: 'append',
  pending: 'drop',
  hidden: () => false,
  show: {},
  clientTools: () => true,
  limits,
  sessions: new SessionManager({ store }),
  clock,
  report: () => {},
}
const instead: Pick<Required<AgUiAgentOptions>, Instead | 'store'> = {
  resolveRunner: () => runner,
  appNameExtractor: () => 'demo',
  userIdExtractor: () => 'ann',
  store,
}
const { userId: _, ...shared } = agent
const handler: Required<Omit<AgUiHandlerOptions, 'resolveRunner' | 'owner' | 'agent'>> = {
  ...shared,
  store,
  authenticate: () => ({ user: 'ann' }),
  path: '/agent',
  capabilities: {},
  assumedVersion: '0.0.59',
  cors: { origins: ['https://app.example.com'] },
  onDisconnect: 'cancel',
  lostRuns: 'ask',
  limits: { ...limits, ...transport },
}
const translator: Required<TranslatorOptions> = {
  threadId: 't1',
  runId: 'r1',
  parentRunId: 'r0',
  input: { messages: [] },
  history: [],
  state: {},
  hidden: () => false,
  clientToolPrefix: '',
  clientTools: new Set(),
  publicError: () => ({ code: 'X', message: 'x' }),
  requestId: 'q1',
  showToolErrors: true,
  show: {},
  refusedTools: [],
  clock: { now: () => 0 },
  report: () => {},
}
const error: Required<RunErrorOptions> = {
  requestId: 'q1',
  retryable: true,
  holder: 'r1',
  usage: { inputTokens: 1, outputTokens: 1 },
}
const owner = { app: 'demo', user: 'ann' }

testOptions<AgUiAgentOptions>('AgUiAgent', (options) => new AgUiAgent(options), agent)
testOptions<AgUiAgentOptions>('AgUiAgent by request', (options) => new AgUiAgent(options), instead)
testOptions('its limits', (some: InputLimits) => new AgUiAgent({ runner, store, userId: 'ann', limits: some }), limits)
testOptions<SessionManagerOptions>('SessionManager', (options) => new SessionManager(options), sessions)
testOptions<AgUiHandlerOptions>('agUiHandler', agUiHandler, handler)
testOptions<AgUiHandlerOptions>('agUiHandler with one owner', agUiHandler, {
  resolveRunner: () => runner,
  store,
  owner,
})
testOptions<AgUiHandlerOptions>('agUiHandler with an agent', agUiHandler, { agent: new AgUiAgent(agent), store, owner })
testOptions('the limits of a handler', (some: InputLimits & HttpLimits) => agUiHandler({ ...handler, limits: some }), {
  ...limits,
  ...transport,
})
testOptions<TranslatorOptions>('eventTranslator', eventTranslator, translator)
testOptions<RunWriterOptions>('runWriter', runWriter, { onRefused: () => {} })
testOptions('runError', (options: RunErrorOptions) => runError({ code: 'X', message: 'x' }, options), error)
testOptions('toAgUiMessages', (options: MessageOptions) => toAgUiMessages([], options), { showToolErrors: true })
testOptions('strictVerifier', strictVerifier, { messages: [] })
testOptions(
  'agUiServer',
  async (options: AgUiServerOptions) => (await agUiServer(agUiHandler(handler), options)).stop(),
  { port: 0, host: '127.0.0.1', requestMs: 1000 } satisfies Required<AgUiServerOptions>,
)

const { runner: _1, store: _2, appName: _3, userId: _4, limits: _5, clock: _6, report: _7, ...ownOptions } = agent
test.each([
  ...Object.entries(ownOptions).map(([name, value]) => [name, { [name]: value }] as const),
  ...Object.entries(limits).map(([name, value]) => [`limits.${name}`, { limits: { [name]: value } }] as const),
])('agUiHandler with an agent refuses its option %s', (name, option) => {
  const message = `agUiHandler: ${name} has no effect beside agent; give it to that agent`
  const given = { agent: new AgUiAgent(agent), store, owner, ...option } as AgUiHandlerOptions
  expect(() => agUiHandler(given)).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }))
})

test.each<[() => unknown, string]>([
  [() => agUiHandler({ ...handler, userId: 'ann' } as never), 'agUiHandler: unknown option userId; known are'],
  [() => new AgUiAgent(undefined as never), 'AgUiAgent: expected an object of options, got undefined'],
])('%s', (work, message) => {
  expect(work).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(message) }))
})

import {
  type AgentEvent,
  type AgentInput,
  type Answers,
  defineTool,
  type ErrorInfo,
  type EventOf,
  type Json,
  type Message,
  type ModelRequest,
  type ResumeInfo,
  type Tool,
  type UserMessage,
} from '@troupe/kernel'
import { toolMessage } from '@troupe/kernel/history'
import { type RunHost, type RunSettings, startRun } from '@troupe/kernel/run'
import {
  answersTo,
  type FakeClock,
  fakeClock,
  type Recording,
  record,
  type ScriptedModel,
  type ScriptedTurn,
  scriptedModel,
} from '@troupe/testkit'
import { expect } from 'vitest'
import { type ChatModelAgentOptions, chatModelAgent } from './index.ts'

/** Everything but what `runAgent` sets itself. */
export type Options = Partial<ChatModelAgentOptions>
/** A script for the model. */
export type Turns = readonly (ScriptedTurn | ((request: ModelRequest) => ScriptedTurn))[]

/** A user message. */
export const user = (content = 'Hello', id = 'u1'): UserMessage => ({ id, role: 'user', content })

/** The input of most runs. */
export const hello: AgentInput = { messages: [user()] }

/** A tool; its result is `<name> done` unless it says otherwise. */
export const tool = (
  name: string,
  invoke: NonNullable<Tool['invoke']> = () => `${name} done`,
  more: Partial<Omit<Tool, 'name' | 'invoke'>> = {},
): Tool => defineTool({ name, description: name, parameters: { type: 'object' }, invoke, ...more })

/** A tool that shows its output in pieces. */
export const streaming = (
  name: string,
  pieces: readonly string[] = [`${name} `, 'done'],
  more: Partial<Tool> = {},
): Tool =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    async *stream() {
      yield* pieces
    },
    ...more,
  })

/** A turn that calls tools, each call with the name of its tool as id; repeated names are numbered. */
export const calling = (...names: readonly string[]): ScriptedTurn => ({
  toolCalls: names.map((name, i) => ({ id: names.indexOf(name) === i ? name : `${name}-${i}`, name })),
})

/** A run that has ended, and its parts that tests look at. */
export interface FinishedRun extends Recording {
  readonly requests: readonly ModelRequest[]
  /** The lines without the agent's name. */
  readonly story: readonly string[]
  readonly toolEnds: readonly EventOf<'tool-end'>[]
  /** Ids of calls by `tool-start`. */
  readonly started: readonly string[]
  readonly errors: readonly ErrorInfo[]
  /** The input with which `startRun` resumes the run; its answers are by the call that asks. */
  resume(answers?: Answers): ResumeInfo
  /** The history after the run. */
  readonly history: readonly Message[]
}

/** Runs an agent named `a` on a scripted model and reads the run to its end. */
export async function runAgent(
  turns: Turns,
  options: Options = {},
  input: AgentInput | ResumeInfo = hello,
  { cancelling, ...settings }: RunSettings & Pick<RunHost, 'cancelling'> = {},
): Promise<FinishedRun> {
  const model = scriptedModel(turns)
  const agent = chatModelAgent({ name: 'a', model, ...options })
  const recording = await record(startRun(agent, input, { runId: 'R', ...settings }, cancelling && { cancelling }))
  return finishedRun(recording, input, model.requests)
}

/** Reads what tests ask of a recording. */
export function finishedRun(
  recording: Recording,
  input: AgentInput,
  requests: readonly ModelRequest[] = [],
): FinishedRun {
  const own = recording.events.filter((event) => event.parentCallId === undefined)
  const history = [...input.messages, ...own.flatMap(entryOf)]
  return {
    ...recording,
    requests,
    story: recording.lines.map((line) => line.replace(/^a /, '')),
    toolEnds: own.filter((event) => event.type === 'tool-end'),
    started: own.flatMap((event) => (event.type === 'tool-start' ? [event.callId] : [])),
    errors: recording.events.flatMap((event) => (event.type === 'error' ? [event.error] : [])),
    history,
    resume: (answers = {}) => ({
      messages: history,
      state: JSON.parse(JSON.stringify(stateOf(own))),
      answers: answersTo(recording.end?.interrupts, answers),
    }),
  }
}

function entryOf(event: AgentEvent): Message[] {
  if (event.type === 'message-end' && !event.dropped) return [event.message]
  return event.type === 'tool-end' && event.status !== 'dropped' ? [toolMessage(event)] : []
}

function stateOf(events: readonly AgentEvent[]): Json {
  for (const event of events.toReversed()) {
    if (event.type === 'action' && event.action.type === 'interrupt') return event.action.state ?? null
  }
  return expect.fail('the run was not interrupted')
}

/** The roles and texts of messages, for short comparisons. */
export const brief = (messages: readonly Message[] | undefined): string[] =>
  (messages ?? []).map((message) => {
    const calls = message.role === 'assistant' ? (message.toolCalls ?? []).map(({ name }) => name) : []
    const text = typeof message.content === 'string' ? message.content : JSON.stringify(message.content)
    return [message.role, ...calls, ...(text === '' ? [] : [text])].join(' ')
  })

/** Runs everything that can run without further input. */
export async function idle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** Waits for good. */
export const never: Promise<never> = new Promise(() => {})

/** For `beforeEach`: fails a test that has an unhandled rejection. */
export function noUnhandledRejection(): () => Promise<void> {
  const unhandled: unknown[] = []
  const note = (reason: unknown) => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  return async () => {
    await idle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  }
}

/** Contract: exactly one terminal, at most one error, every message and call closed, nothing of them after their end, every event JSON. */
export function expectSound({ events, end }: Recording): void {
  expect(JSON.parse(JSON.stringify(events))).toEqual(events)
  expect(events.filter(({ type, parentCallId }) => type === 'run-end' && parentCallId === undefined)).toEqual([end])
  expect(events.at(-1)).toBe(end)
  expect(events.filter(({ type }) => type === 'error')).toHaveLength(end?.outcome === 'failed' ? 1 : 0)
  const started = events.flatMap((event) => (event.type === 'message-start' ? [event.messageId] : []))
  const ended = events.flatMap((event) => (event.type === 'message-end' ? [event.message.id] : []))
  expect(ended.toSorted()).toEqual(started.toSorted())
  const answered = events.flatMap((event) => (event.type === 'tool-end' ? [event.callId] : []))
  expect(new Set(answered).size).toBe(answered.length)
  expect(late(events)).toEqual([])
}

/** Events of a message or call after its end. */
function late(events: readonly AgentEvent[]): AgentEvent[] {
  const over = new Set<string>()
  return events.filter((event) => {
    const parts = partsOf(event).map((part) => `${event.runId} ${part}`)
    if (!/^(message|tool-call|tool)-end$/.test(event.type)) return parts.some((part) => over.has(part))
    for (const part of parts) over.add(part)
    return false
  })
}

/** The message, the call as it is written, or the call as it runs, that an event belongs to. */
function partsOf(event: AgentEvent): string[] {
  switch (event.type) {
    case 'message-start':
    case 'text-delta':
    case 'reasoning-delta':
      return [`message ${event.messageId}`]
    case 'message-end':
      return [`message ${event.message.id}`, ...(event.message.toolCalls ?? []).map(({ id }) => `writing ${id}`)]
    case 'tool-call-start':
      return [`message ${event.messageId}`, `writing ${event.callId}`]
    case 'tool-call-delta':
      return [`writing ${event.callId}`]
    case 'tool-call-end':
      return [`writing ${event.call.id}`]
    case 'tool-start':
    case 'tool-delta':
    case 'tool-end':
      return [`running ${event.callId}`]
    default:
      return []
  }
}

/** Runs of one agent, each of which goes on where the one before was interrupted. */
export interface Conversation {
  readonly model: ScriptedModel
  readonly runs: readonly FinishedRun[]
  /** Starts, or resumes with these answers, each by the call that asks. */
  next(answers?: Answers): Promise<FinishedRun>
  /** Ids of calls by `tool-start`, over all runs. */
  started(): readonly string[]
}

/** Runs and resumes with one agent: each step gives its answers. */
export function conversation(turns: Turns, options: Options): Conversation {
  const model = scriptedModel(turns)
  const runs: FinishedRun[] = []
  return {
    model,
    runs,
    async next(answers = {}) {
      const input = runs.at(-1)?.resume(answers) ?? hello
      const run = await runAgent([], { ...options, model }, input, { canInterrupt: true, runId: `R${runs.length}` })
      expectSound(run)
      runs.push(run)
      return run
    },
    started: () => runs.flatMap(({ started }) => started),
  }
}

/** A run on a fake clock, which goes on only when time is made to pass. */
export interface Timed {
  readonly clock: FakeClock
  readonly running: Promise<FinishedRun>
  /** Lets time pass and says how often the model was asked by then. */
  pass(ms: number): Promise<number>
}

/** Starts a run on a fake clock. */
export function timed(turns: Turns, options: Options = {}): Timed {
  const clock = fakeClock()
  const model = scriptedModel(turns)
  const running = runAgent([], { model, ...options }, hello, { clock })
  return {
    clock,
    running,
    async pass(ms: number) {
      await idle()
      clock.advance(ms)
      await idle()
      return model.requests.length
    },
  }
}

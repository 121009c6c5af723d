import { got, isObject, KernelError } from '../data/kernel-error.ts'
import type { Message } from '../data/message.ts'
import { checkOption, checkOptionNames, type OptionNames, suggestion } from '../data/option.ts'
import type { AgentInput, RunOptions } from './agent.ts'
import { checkModelOptions } from './model.ts'

/** A message as a caller may write it. Contract: without an `id` it gets one. */
export type NewMessage = Message extends infer M
  ? M extends Message
    ? Omit<M, 'id'> & { readonly id?: string }
    : never
  : never

/** The input that starts a run: the text of a user, or messages with the other fields of an input. */
export type StartInput<Input extends AgentInput = AgentInput> =
  | string
  | (Omit<Input, 'messages'> & { readonly messages: readonly NewMessage[] })

/**
 * Reads the input that starts a run.
 * Contract: gives ids to messages that have none, named after the run; throws `CONFIG_INVALID` for an invalid input and `VALIDATION_FAILED` for an invalid message.
 * @example const { messages } = readInput('Hi', 'run-1', 'startRun')
 */
export function readInput<Input extends AgentInput>(input: StartInput<Input>, runId: string, who: string): Input {
  const given: unknown = typeof input === 'string' ? { messages: [{ role: 'user', content: input }] } : input
  if (!isObject(given) || !Array.isArray(given.messages)) {
    throw new KernelError('CONFIG_INVALID', `${who}: expected a text or { messages: [...] }, ${got(input)}`)
  }
  const { messages, options } = given
  if (options !== undefined) checkRunOptions(options as RunOptions, who)
  if (isComplete(messages, who)) return given as unknown as Input
  const named = messages.map((message, i) =>
    message.id === undefined ? { ...message, id: `${runId}/input:${i}` } : message,
  )
  return { ...given, messages: named } as unknown as Input
}

/** The checked length of a long list and the last message of that part; histories grow at their end. */
const CHECKED = new WeakMap<readonly unknown[], { readonly count: number; readonly last: unknown }>()
const LONG = 64

/** Whether every message has an id. Contract: throws for what is not a message; a long list that has grown is looked at from where it was checked. */
function isComplete(messages: readonly Partial<Message>[], who: string): boolean {
  const { length } = messages
  const before = length < LONG ? undefined : CHECKED.get(messages)
  let complete = true
  for (let i = before && messages[before.count - 1] === before.last ? before.count : 0; i < length; i++) {
    const message = messages[i] as Partial<Message>
    checkMessage(message, i, who)
    if (message.id === undefined) complete = false
  }
  if (complete && length >= LONG) CHECKED.set(messages, { count: length, last: messages[length - 1] })
  return complete
}

const RUN_OPTIONS: OptionNames<RunOptions> = { model: true, tools: true, maxIterations: true, agents: true }

function checkRunOptions(options: RunOptions, who: string): void {
  checkOptionNames(`${who}: options`, options, RUN_OPTIONS, { maxSteps: 'maxIterations', maxTurns: 'maxIterations' })
  if (options.model !== undefined) checkModelOptions(`${who}: options.model`, options.model)
  if (options.agents === undefined) return
  if (!isObject(options.agents)) {
    checkOption(
      false,
      `${who}: options`,
      'agents has options by agent name: { Writer: { maxIterations: 3 } }',
      options.agents,
    )
  }
  for (const [name, own] of Object.entries(options.agents)) {
    checkRunOptions(own, `${who}: options.agents.${name}`)
    checkOption(!Object.hasOwn(own, 'agents'), `${who}: options.agents.${name}`, 'has no agents of its own', own)
  }
}

const ROLES = ['system', 'user', 'assistant', 'tool'] satisfies Message['role'][]
const PARTS = ['text', 'reasoning', 'file']

function checkMessage(message: unknown, index: number, who: string): void {
  if (!isObject(message)) throw wrong(who, index, `is a message like { role: 'user', content: 'Hi' }, ${got(message)}`)
  const { role, content, id } = message
  if (!(ROLES as unknown[]).includes(role)) {
    const hint = typeof role === 'string' ? suggestion(role, ROLES) : `known are ${ROLES.join(', ')}`
    throw wrong(who, index, `has an unknown role, ${got(role)}; ${hint}`)
  }
  if (typeof content !== 'string') checkParts(content, index, who)
  if (id !== undefined && (typeof id !== 'string' || id === ''))
    throw wrong(who, index, `has an id that is not a text, ${got(id)}`)
  if (role === 'assistant' && (message.toolCalls ?? message.tool_calls) !== undefined) checkCalls(message, index, who)
  if (role === 'tool' && typeof message.callId !== 'string') {
    throw wrong(who, index, `is a tool result and needs the callId of its call, ${got(message.callId)}`)
  }
}

function checkParts(content: unknown, index: number, who: string): void {
  if (!Array.isArray(content)) throw wrong(who, index, `needs content, a text or a list of parts, ${got(content)}`)
  for (const part of content) {
    const type: unknown = part?.type
    if (type === 'text' && typeof part.text !== 'string')
      throw wrong(who, index, `has a text part without text, ${got(part.text)}`)
    if (!(PARTS as unknown[]).includes(type))
      throw wrong(who, index, `has a part of unknown type, ${got(type)}; known are ${PARTS.join(', ')}`)
  }
}

function checkCalls({ toolCalls, tool_calls }: Record<PropertyKey, unknown>, index: number, who: string): void {
  if (tool_calls !== undefined) {
    throw wrong(who, index, 'has tool_calls; did you mean toolCalls, each { id, name, arguments }?')
  }
  const texts = (call: unknown) => isObject(call) && [call.id, call.name, call.arguments].every(isText)
  if (!Array.isArray(toolCalls) || !toolCalls.every(texts)) {
    throw wrong(who, index, 'needs toolCalls that are a list of { id, name, arguments }, with arguments as JSON text')
  }
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function wrong(who: string, index: number, what: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `${who}: messages[${index}] ${what}`, { details: { index } })
}

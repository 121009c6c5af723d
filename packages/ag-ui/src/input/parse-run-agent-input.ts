import { omitOptionalNulls, type RunAgentInput } from '@ag-ui/core'
import { RunAgentInputSchema } from '@ag-ui/core/schemas'
import type { KernelError } from '@troupe/kernel'
import { got, type OptionNames } from '@troupe/kernel/kit'
import { isHold } from '../session/thread-holds.ts'
import { checkJson, invalidInput, pathOf } from './check-json.ts'
import { checkTools, usableTools } from './check-tools.ts'
import { Room } from './kernel-content.ts'
import { checkClientState } from './state-change.ts'
import { upgradeMessage } from './upgrade-message.ts'

/** The limits of a run input; the server limits the size of the whole body. */
export interface InputLimits {
  /** Bytes of `state` as JSON. @default 262_144 */
  readonly stateBytes?: number
  /** Characters of the new messages of a request; what does not fit is left out, with a note in its place. @default 1_048_576 */
  readonly newChars?: number
  /** Levels of nesting. @default 64 */
  readonly depth?: number
  /** Characters of an id. @default 256 */
  readonly idLength?: number
  /** @default 128 */
  readonly tools?: number
  /** Characters of a `pattern` in the parameters of a client tool. @default 512 */
  readonly patternLength?: number
}

/** The limits of an input by name. */
export const INPUT_LIMITS: OptionNames<InputLimits> = {
  stateBytes: true,
  newChars: true,
  depth: true,
  idLength: true,
  tools: true,
  patternLength: true,
}

const DEFAULTS: Required<InputLimits> = {
  stateBytes: 262_144,
  newChars: 1_048_576,
  depth: 64,
  idLength: 256,
  tools: 128,
  patternLength: 512,
}

/** The room for the new messages of a request. */
export function roomFor({ newChars = DEFAULTS.newChars }: InputLimits = {}): Room {
  return new Room(newChars)
}

/**
 * Parses the run input of any client, older ones included.
 * Contract: throws only `VALIDATION_FAILED`, which names the field in `details.issues`; does not change the value. With `onBadTool`, a bad tool is left out instead.
 * @example const input = parseRunAgentInput(JSON.parse(body))
 */
export function parseRunAgentInput(
  value: unknown,
  limits: InputLimits = {},
  onBadTool?: (reason: KernelError) => void,
): RunAgentInput {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidInput('input', `expected an object, ${got(value)}`)
  }
  const all = { ...DEFAULTS, ...limits }
  checkJson(value, all.depth)
  const { messages, tools } = value as { messages?: unknown; tools?: unknown }
  const upgraded = {
    ...value,
    ...(Array.isArray(messages) && { messages: messages.map(upgradeMessage) }),
    ...(onBadTool && Array.isArray(tools) && { tools: usableTools(tools, all, onBadTool) }),
  }
  const { success, data, error } = RunAgentInputSchema.safeParse(omitOptionalNulls(upgraded, 'RunAgentInput'))
  if (!success) {
    const [issue] = error.issues
    throw invalidInput(pathOf(issue?.path ?? []), issue?.message ?? 'does not fit the protocol')
  }
  const input = data as RunAgentInput
  checkIds(input, all.idLength)
  checkClientState(input.state, all.stateBytes)
  if (!onBadTool) checkTools(input.tools, all)
  return input
}

function checkIds({ threadId, runId, parentRunId, messages, resume = [] }: RunAgentInput, longest: number): void {
  checkId('threadId', threadId, longest)
  checkId('runId', runId, longest)
  if (isHold(runId)) throw invalidInput('runId', `the prefix is reserved, ${got(runId)}`)
  if (parentRunId !== undefined) checkId('parentRunId', parentRunId, longest)
  const counted = new Set<string>()
  messages.forEach((message, i) => {
    checkId(`messages[${i}].id`, message.id, longest)
    if (message.role === 'tool') checkId(`messages[${i}].toolCallId`, message.toolCallId, longest)
    if (message.role !== 'tool' && message.role !== 'user') return
    if (counted.has(message.id))
      throw invalidInput(`messages[${i}].id`, `expected unique ids, ${got(message.id)} twice`)
    counted.add(message.id)
  })
  const answered = new Set<string>()
  resume.forEach(({ interruptId }, i) => {
    // The server makes interrupt ids from the ids of a run and of calls, and a fingerprint.
    checkId(`resume[${i}].interruptId`, interruptId, longest * 3)
    if (answered.has(interruptId)) {
      throw invalidInput(`resume[${i}].interruptId`, `expected one answer per interrupt, ${got(interruptId)} twice`)
    }
    answered.add(interruptId)
  })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f]/

function checkId(path: string, id: string, longest: number): void {
  if (id !== '' && id.length <= longest && !CONTROL.test(id) && id.isWellFormed()) return
  throw invalidInput(path, `expected 1 to ${longest} characters, none of them a control character, ${got(id)}`)
}

import type { FinishReason, Json, ModelPart, Usage } from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'

/** The point of an answer at which something goes wrong: before its first part, after half of them, or after `finish`. */
export type Moment = 'before' | 'mid' | 'after'

/** A tool call as a scripted model makes it. */
export interface ScriptedCall {
  /** @default `call-<number>`, unique in the model; in a script by step `<step>-call-<number>` */
  readonly id?: string
  readonly name: string
  /** A value is written as one piece of JSON; a list of strings is written piece by piece, valid JSON or not. @default {} */
  readonly arguments?: { readonly [key: string]: Json } | readonly string[]
}

/** One answer: plain text, or its contents, which come in the order reasoning, text, calls. */
export type ScriptedTurn =
  | string
  | {
      /** One delta, or several. */
      readonly text?: string | readonly string[]
      readonly reasoning?: string | readonly string[]
      readonly toolCalls?: readonly ScriptedCall[]
      /** @default { inputTokens: 1, outputTokens: 1 } */
      readonly usage?: Usage
      /** @default 'tool-calls' with calls, else 'stop' */
      readonly finishReason?: FinishReason
      readonly error?: { readonly at: Moment; readonly error: unknown }
      /** Stops here, until it is aborted. */
      readonly hang?: Moment
      /** These parts and no others, for answers that break the rules. */
      readonly parts?: readonly ModelPart[]
    }

/**
 * Checks a turn of a script, for callers without type checks.
 * Contract: returns it; throws `CONFIG_INVALID` with the number or step of the turn and the nearest known name.
 */
export function checkTurn(turn: ScriptedTurn, number: string): ScriptedTurn {
  if (typeof turn === 'string') return turn
  const who = `scriptedModel: turn ${number}`
  checkOptionNames(who, turn, TURN, TURN_ALIASES)
  const { text, reasoning, toolCalls, error, hang, parts } = turn
  for (const [name, value] of Object.entries({ text, reasoning })) {
    checkOption(value === undefined || isTexts(value), who, `${name} is text or a list of texts`, value)
  }
  checkOption(toolCalls === undefined || Array.isArray(toolCalls), who, 'toolCalls is a list of calls', toolCalls)
  toolCalls?.forEach((call, i) => {
    checkCall(call, `${who}, call ${i + 1}`)
  })
  checkOption(parts === undefined || Array.isArray(parts), who, 'parts is a list of parts', parts)
  checkOption(hang === undefined || isMoment(hang), who, `hang is ${MOMENTS_TEXT}`, hang)
  if (error === undefined) return turn
  const expected = `error is { at, error }, with ${MOMENTS_TEXT} as at`
  checkOption(isMoment((error as typeof error | null)?.at), who, expected, error)
  checkOptionNames(`${who}, error`, error, { at: true, error: true })
  return turn
}

const TURN = {
  text: true,
  reasoning: true,
  toolCalls: true,
  usage: true,
  finishReason: true,
  error: true,
  hang: true,
  parts: true,
} as const
const TURN_ALIASES = { content: 'text', calls: 'toolCalls', tools: 'toolCalls', thinking: 'reasoning' } as const

function checkCall(call: ScriptedCall, who: string): void {
  checkOptionNames(who, call, { id: true, name: true, arguments: true }, CALL_ALIASES)
  checkOption(typeof call.name === 'string', who, 'name is the name of a tool', call.name)
  const args: unknown = call.arguments
  const fine =
    args === undefined || (typeof args === 'object' && args !== null && (!Array.isArray(args) || isTexts(args)))
  checkOption(fine, who, 'arguments is an object, or a list of the pieces in which its JSON is written', args)
}

const CALL_ALIASES = {
  args: 'arguments',
  input: 'arguments',
  parameters: 'arguments',
  tool: 'name',
  toolName: 'name',
  callId: 'id',
  toolCallId: 'id',
} as const

const MOMENTS: readonly Moment[] = ['before', 'mid', 'after']
const MOMENTS_TEXT = "'before', 'mid' or 'after'"

function isMoment(value: unknown): boolean {
  return MOMENTS.includes(value as Moment)
}

function isTexts(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((text) => typeof text === 'string'))
}

import type { AgentAction, Answers, FinishReason, Json, ModelPart } from '@troupe/kernel'
import { type AssistantMessage, KernelError } from '@troupe/kernel'
import { got, isContent } from '@troupe/kernel/kit'
import type { Toolbox } from './tools/toolbox.ts'
import type { ParkedCall } from './tools/turn-input.ts'

/** A model's answer that a hook asks about. */
export type KeptAnswer = {
  readonly message: AssistantMessage
  readonly finishReason: FinishReason
  readonly model: string
}

/** What an interrupted run of the agent keeps, beyond its history. Contract: JSON, stored in checkpoints. */
export type LoopState = {
  readonly format: 2
  /**
   * What runs again: everything (`begin`), the turn from its first model hook on (`model`), the hooks that look at the model's answer
   * (`answer`), the calls that asked (`tools`), or the hooks after the run (`end`).
   */
  readonly at: 'begin' | 'model' | 'answer' | 'tools' | 'end'
  readonly turn: number
  readonly modelCalls: number
  readonly corrections: number
  /** Every answer so far: whatever runs again gets it again. */
  readonly answers: Answers
  readonly parked?: { readonly [callId: string]: ParkedCall }
  /** The answers that the model gave inside the wraps of the turn. */
  readonly made?: readonly (readonly ModelPart[] | null)[]
  readonly answer?: KeptAnswer
  readonly end?: RunEnd
}

/** How a run would have ended. */
export type RunEnd = { readonly text: string; readonly output?: Json; readonly action?: AgentAction }

/** The state of a run that has not begun. */
export const BEGIN: LoopState = { format: 2, at: 'begin', turn: 0, modelCalls: 0, corrections: 0, answers: {} }

/** Reads the state of an interrupted run. Contract: throws `CHECKPOINT_INVALID` for anything else; `null` is that of a run that begins anew. */
export function readLoopState(agentName: string, state: Json): LoopState {
  if (state === null) return BEGIN
  const found = state as Partial<LoopState>
  const wrong = problemOf(found)
  if (wrong === undefined) return found as LoopState
  throw new KernelError('CHECKPOINT_INVALID', `agent ${agentName}: ${wrong}`)
}

/** Checks the state of an interrupted run, and those of the runs inside its calls. Contract: throws `CHECKPOINT_INVALID`. */
export function checkLoopState(agentName: string, state: Json, toolbox: Toolbox): void {
  const { parked = {} } = readLoopState(agentName, state)
  for (const { name, saved } of Object.values(parked)) {
    if (saved !== undefined) toolbox.get(name)?.tool.checkState?.(saved)
  }
}

function problemOf(state: Partial<LoopState>): string | undefined {
  if (typeof state !== 'object' || state.format !== BEGIN.format) {
    return `expected a state of format ${BEGIN.format}, ${got(state?.format ?? state)}`
  }
  const { at, turn, modelCalls, corrections, answers, parked, made, answer, end } = state
  if (![turn, modelCalls, corrections].every(isCount)) return 'its state has malformed counts'
  if (!isRecord(answers)) return `its state has malformed answers, ${got(answers)}`
  const fits: { readonly [at in LoopState['at']]: boolean } = {
    begin: true,
    model: made === undefined || (Array.isArray(made) && made.every((parts) => parts === null || areParts(parts))),
    answer: isAnswer(answer),
    tools: isRecord(parked) && Object.values(parked).every(isParked),
    end: isEnd(end),
  }
  if (at === undefined || !Object.hasOwn(fits, at)) return `its state is at an unknown place, ${got(at)}`
  return fits[at] ? undefined : `its state is malformed at ${at}`
}

type Fields = { readonly [key: string]: unknown }

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === 'string')
}

function isAnswer(answer: unknown): boolean {
  if (!isRecord(answer) || !areTexts(answer.finishReason, answer.model) || !isRecord(answer.message)) return false
  const { role, content, toolCalls = [] } = answer.message
  const isCall = (call: unknown) => isRecord(call) && areTexts(call.id, call.name, call.arguments)
  return role === 'assistant' && isContent(content) && Array.isArray(toolCalls) && toolCalls.every(isCall)
}

function isParked(call: unknown): boolean {
  if (!isRecord(call)) return false
  const { name, key, started, approval, outcomesAsked = 0 } = call
  return areTexts(name, key) && typeof started === 'boolean' && typeof approval === 'boolean' && isCount(outcomesAsked)
}

function isEnd(end: unknown): boolean {
  if (!isRecord(end) || !areTexts(end.text)) return false
  const { action } = end
  return action === undefined || (isRecord(action) && typeof action.type === 'string' && isSteering(action))
}

function isSteering({ type, agentName }: Fields): boolean {
  return type === 'exit' || type === 'break-loop' || (type === 'transfer-to-agent' && areTexts(agentName))
}

function areParts(parts: unknown): boolean {
  return Array.isArray(parts) && parts.every((part) => isRecord(part) && isPart(part))
}

function isPart({ type, delta, callId, name, file, usage, reason }: Fields): boolean {
  switch (type) {
    case 'text-delta':
    case 'reasoning-delta':
      return areTexts(delta)
    case 'tool-call-start':
      return areTexts(callId, name)
    case 'tool-call-delta':
      return areTexts(callId, delta)
    case 'tool-call-end':
      return areTexts(callId)
    case 'file':
      return isRecord(file) && file.type === 'file'
    case 'finish':
      return areTexts(reason) && isRecord(usage) && isCount(usage.inputTokens) && isCount(usage.outputTokens)
    default:
      return type === 'part-end' || type === 'restart'
  }
}

import { type ChatModel, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import { checkOption, checkOptionNames, untilAborted } from '@troupe/kernel/kit'
import { checkTurn, type ScriptedCall, type ScriptedTurn } from './scripted-turn.ts'

/** Options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** @default 'scripted' */
  readonly name?: string
  /** Starts again after the last turn instead of failing. @default false */
  readonly repeat?: boolean
}

/** A chat model that answers from a script, and remembers its requests. */
export interface ScriptedModel extends ChatModel {
  readonly requests: readonly ModelRequest[]
}

type Entry = ScriptedTurn | ((request: ModelRequest) => ScriptedTurn)

/**
 * Makes a chat model of a script: one entry per call, each an answer or a function of the request.
 * Contract: a list is read from its start; an object has the answer of each step (`model:0`), for runs that begin in the middle.
 * @example scriptedModel([{ toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] }, 'Sunny.'])
 */
export function scriptedModel(turns: { readonly [step: string]: Entry }, options?: ScriptedModelOptions): ScriptedModel
export function scriptedModel(turns: readonly Entry[], options?: ScriptedModelOptions): ScriptedModel
export function scriptedModel(
  turns: readonly Entry[] | { readonly [step: string]: Entry },
  options: ScriptedModelOptions = {},
): ScriptedModel {
  checkOption(isScript(turns), 'scriptedModel', 'turns is a list, or an object by step: { "model:0": "Hi." }', turns)
  checkOptionNames('scriptedModel', options, { name: true, repeat: true })
  for (const [key, turn] of Object.entries(turns)) {
    if (typeof turn !== 'function') checkTurn(turn, numberOf(key))
  }
  const { name = 'scripted', repeat = false } = options
  const requests: ModelRequest[] = []
  const known = Object.keys(turns)
  let calls = 0
  const keyOf = (index: number, { step }: ModelRequest) =>
    Array.isArray(turns) ? String(repeat ? index % known.length : index) : step
  const turnAt = (index: number, request: ModelRequest) => {
    const key = keyOf(index, request)
    const entry = Object.hasOwn(turns, key) ? (turns as { readonly [key: string]: Entry })[key] : undefined
    if (entry === undefined) {
      const has = Array.isArray(turns)
        ? `${known.length} turns, got call ${index + 1}`
        : `${known.join(', ')}, got ${key}`
      throw new KernelError('MODEL_FAILED', `scripted model: has ${has}`)
    }
    const turn = typeof entry === 'function' ? checkTurn(entry(request), numberOf(key)) : entry
    return typeof turn === 'string' ? { text: turn } : turn
  }
  // By step, ids must not depend on the calls before.
  const idOf = ({ step }: ModelRequest, call: number) =>
    Array.isArray(turns) ? `call-${++calls}` : `${step}-call-${call}`
  return {
    name,
    requests,
    async *stream(request, { signal }) {
      const index = requests.push(request) - 1
      signal.throwIfAborted()
      const turn = turnAt(index, request)
      const parts = turn.parts ?? partsOf(turn, (call) => idOf(request, call))
      const stops = { before: 0, mid: Math.floor(parts.length / 2), after: parts.length }
      for (let i = 0; i <= parts.length; i++) {
        if (turn.error && i === stops[turn.error.at]) throw turn.error.error
        if (turn.hang && i === stops[turn.hang]) await untilAborted(signal, new Promise<never>(() => {}))
        signal.throwIfAborted()
        const part = parts[i]
        if (part) yield part
      }
    },
  }
}

function partsOf(turn: Exclude<ScriptedTurn, string>, idOf: (call: number) => string): ModelPart[] {
  const calls = turn.toolCalls ?? []
  return [
    ...list(turn.reasoning).map((delta): ModelPart => ({ type: 'reasoning-delta', delta })),
    ...(turn.reasoning === undefined ? [] : [{ type: 'part-end' as const }]),
    ...list(turn.text).map((delta): ModelPart => ({ type: 'text-delta', delta })),
    ...calls.flatMap(({ id, name, arguments: args = {} }, i): ModelPart[] => {
      const callId = id ?? idOf(i + 1)
      return [
        { type: 'tool-call-start', callId, name },
        ...pieces(args).map((delta): ModelPart => ({ type: 'tool-call-delta', callId, delta })),
        { type: 'tool-call-end', callId },
      ]
    }),
    {
      type: 'finish',
      reason: turn.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
      usage: turn.usage ?? { inputTokens: 1, outputTokens: 1 },
    },
  ]
}

function isScript(turns: unknown): boolean {
  if (typeof turns !== 'object' || turns === null) return false
  return Array.isArray(turns) || Object.keys(turns).every((step) => /(^|\/)model:\d+$/.test(step))
}

/** The name of a turn in errors: its number in a list, or its step. */
function numberOf(key: string): string {
  return /^\d+$/.test(key) ? `${Number(key) + 1}` : key
}

function pieces(args: NonNullable<ScriptedCall['arguments']>): readonly string[] {
  return Array.isArray(args) ? args : [JSON.stringify(args)]
}

function list(text: string | readonly string[] | undefined): readonly string[] {
  return typeof text === 'string' ? [text] : (text ?? [])
}

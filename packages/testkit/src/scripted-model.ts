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

/**
 * Makes a chat model of a script: one entry per call, each an answer or a function of the request.
 * @example scriptedModel([{ toolCalls: [{ name: 'get_weather', arguments: { city: 'Beijing' } }] }, 'Sunny.'])
 */
export function scriptedModel(
  turns: readonly (ScriptedTurn | ((request: ModelRequest) => ScriptedTurn))[],
  options: ScriptedModelOptions = {},
): ScriptedModel {
  checkOption(Array.isArray(turns), 'scriptedModel', 'turns is a list', turns)
  checkOptionNames('scriptedModel', options, { name: true, repeat: true })
  turns.forEach((turn, i) => {
    if (typeof turn !== 'function') checkTurn(turn, i)
  })
  const { name = 'scripted', repeat = false } = options
  const requests: ModelRequest[] = []
  let calls = 0
  const turnAt = (index: number, request: ModelRequest) => {
    const at = repeat ? index % turns.length : index
    const entry = turns[at]
    if (entry === undefined) {
      throw new KernelError('MODEL_FAILED', `scripted model: has ${turns.length} turns, got call ${index + 1}`)
    }
    const turn = typeof entry === 'function' ? checkTurn(entry(request), at) : entry
    return typeof turn === 'string' ? { text: turn } : turn
  }
  return {
    name,
    requests,
    async *stream(request, { signal }) {
      const index = requests.push(request) - 1
      signal.throwIfAborted()
      const turn = turnAt(index, request)
      const parts = turn.parts ?? partsOf(turn, () => `call-${++calls}`)
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

function partsOf(turn: Exclude<ScriptedTurn, string>, nextId: () => string): ModelPart[] {
  const calls = turn.toolCalls ?? []
  return [
    ...list(turn.reasoning).map((delta): ModelPart => ({ type: 'reasoning-delta', delta })),
    ...(turn.reasoning === undefined ? [] : [{ type: 'part-end' as const }]),
    ...list(turn.text).map((delta): ModelPart => ({ type: 'text-delta', delta })),
    ...calls.flatMap(({ id: callId = nextId(), name, arguments: args = {} }): ModelPart[] => [
      { type: 'tool-call-start', callId, name },
      ...pieces(args).map((delta): ModelPart => ({ type: 'tool-call-delta', callId, delta })),
      { type: 'tool-call-end', callId },
    ]),
    {
      type: 'finish',
      reason: turn.finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop'),
      usage: turn.usage ?? { inputTokens: 1, outputTokens: 1 },
    },
  ]
}

function pieces(args: NonNullable<ScriptedCall['arguments']>): readonly string[] {
  return Array.isArray(args) ? args : [JSON.stringify(args)]
}

function list(text: string | readonly string[] | undefined): readonly string[] {
  return typeof text === 'string' ? [text] : (text ?? [])
}

import {
  type ChatModel,
  type FinishReason,
  type Json,
  KernelError,
  type ModelPart,
  type ModelRequest,
  type Usage,
} from '@troupe/kernel'
import { checkOption, checkOptionNames } from '@troupe/kernel/kit'
import { checkTurn } from './check-turn.ts'

/** Where in an answer something goes wrong: before its first part, after half of them, or after `finish`. */
export type Moment = 'before' | 'mid' | 'after'

/** A tool call as a scripted model makes it. */
export interface ScriptedCall {
  /** @default `call-<number>`, unique in the model */
  readonly id?: string
  readonly name: string
  /** A value is written as one piece of JSON; a list of strings is written piece by piece, valid JSON or not. @default {} */
  readonly arguments?: { readonly [key: string]: Json } | readonly string[]
}

/** One answer: plain text, or what it is made of in the order reasoning, text, calls. */
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
      /** Says nothing more from here on, until it is aborted. */
      readonly hang?: Moment
      /** These parts and no others, for answers that break the rules. */
      readonly parts?: readonly ModelPart[]
    }

/** How a scripted model behaves beyond its turns. */
export interface ScriptedModelOptions {
  /** @default 'scripted' */
  readonly name?: string
  /** Starts again after the last turn instead of failing. @default false */
  readonly repeat?: boolean
}

/** A chat model that says what it is told to say, and remembers what it was asked. */
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
  return {
    name,
    requests,
    async *stream(request, { signal }) {
      const index = requests.push(request) - 1
      signal.throwIfAborted()
      const at = repeat ? index % turns.length : index
      const entry = turns[at]
      if (entry === undefined) {
        throw new KernelError('MODEL_FAILED', `scripted model: has ${turns.length} turns, got call ${index + 1}`)
      }
      const scripted = typeof entry === 'function' ? checkTurn(entry(request), at) : entry
      const turn = typeof scripted === 'string' ? { text: scripted } : scripted
      const parts = turn.parts ?? partsOf(turn, () => `call-${++calls}`)
      const stops = { before: 0, mid: Math.floor(parts.length / 2), after: parts.length }
      for (let i = 0; i <= parts.length; i++) {
        if (turn.error && i === stops[turn.error.at]) throw turn.error.error
        if (turn.hang && i === stops[turn.hang]) await aborted(signal)
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

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

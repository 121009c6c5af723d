import { type ChatModel, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import type { ScriptedHost } from './scripted-host.fixture.ts'

/** A turn of a model. */
export interface Turn {
  readonly words: number
  /** Names of tools; `#n` transfers to the nth agent that can be reached. */
  readonly calls: readonly string[]
  /** Whether the model fails after half of its answer, instead of giving the rest. */
  readonly fails?: boolean
  /** Whether the model fails, and the one to fall back on answers. */
  readonly flaky?: boolean
}

/** How a model answers. */
export interface Script {
  readonly turns: readonly Turn[]
  /** Ticks before each part of an answer. */
  readonly pace: number
  /** Ids of its calls: unique ones, none, or the same in every turn and agent. */
  readonly callIds: 'own' | 'none' | 'same'
}

/** What a flaky model says before it fails. */
export const FLAKY = 'flaky '

/** A model whose answers depend on nothing but the request: each names all that it has seen. Contract: an answer that has to fit a schema fits when it is corrected. */
export function scriptedAnswers(host: ScriptedHost, name: string, script: Script, isFallback = false): ChatModel {
  return {
    name,
    async *stream(request) {
      const step = stepOf(request)
      host.begin(step)
      if (!isFallback) yield* host.brokenOff(step)
      const made = request.messages.filter(({ role }) => role === 'assistant').length
      const turn = script.turns[made] ?? { words: 1, calls: [] }
      const { parts, fails } = answerTo(request, name, script, turn, made, isFallback)
      for (const part of parts) {
        await host.pause(script.pace)
        yield part
      }
      if (fails) throw new KernelError('MODEL_FAILED', `${name}: failed`)
    },
  }
}

/** The name of a model call, `<runId>/<step>`: its key ends with both. */
function stepOf({ idempotencyKey }: ModelRequest): string {
  return idempotencyKey.split('/').slice(-2).map(decodeURIComponent).join('/')
}

/** What a model says, and whether it fails then. */
function answerTo(
  request: ModelRequest,
  name: string,
  script: Script,
  turn: Turn,
  made: number,
  isFallback: boolean,
): { readonly parts: readonly ModelPart[]; readonly fails: boolean } {
  const { flaky = false, fails = false } = turn
  if (!isFallback && (flaky || fails)) {
    return { parts: flaky ? [{ type: 'text-delta', delta: FLAKY }] : [], fails: true }
  }
  const parts = partsOf(name, script, turn, made, request)
  return { parts: fails ? parts.slice(0, parts.length >> 1) : parts, fails }
}

function partsOf(
  name: string,
  { callIds }: Script,
  { words, calls }: Turn,
  made: number,
  request: ModelRequest,
): readonly ModelPart[] {
  const said = [`${name}`, `at ${request.step}`, `saw ${digestOf(request)}`, ...WORDS].slice(0, words + 2)
  const fits = request.options.responseSchema && request.messages.at(-1)?.id.includes('#')
  const text = fits ? [JSON.stringify({ said: said.join(' ') })] : said
  return [
    ...(words > 3 ? [{ type: 'reasoning-delta', delta: 'hm ' } as const, { type: 'part-end' } as const] : []),
    ...text.map((word): ModelPart => ({ type: 'text-delta', delta: `${word} ` })),
    ...calls.flatMap((call, i): ModelPart[] => {
      const callId = { own: `${name}.${made}.${i}`, none: '', same: `call-${i}` }[callIds]
      const { tool, args } = callOf(call, request)
      return [
        { type: 'tool-call-start', callId, name: tool },
        { type: 'tool-call-delta', callId, delta: args.slice(0, 3) },
        { type: 'tool-call-delta', callId, delta: args.slice(3) },
        { type: 'tool-call-end', callId },
      ]
    }),
    {
      type: 'finish',
      reason: calls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens: request.messages.length, outputTokens: words },
    },
  ]
}

const WORDS = ['well', 'so', 'then']

const ARGUMENTS: { readonly [tool: string]: object } = {
  Inner: { request: 'Help.' },
  Hidden: { request: 'Help.' },
  sub: { task: 'Help.' },
  exit: { final_result: 'Bye.' },
  respond: { response: 'Enough.' },
  complete_task: { result: 'Found.' },
}

/** The tool and the arguments of a call, as far as the model knows its tools. */
function callOf(call: string, { tools }: ModelRequest): { readonly tool: string; readonly args: string } {
  if (!call.startsWith('#')) return { tool: call, args: JSON.stringify(ARGUMENTS[call] ?? {}) }
  const transfer = tools.find(({ name }) => name === 'transfer_to_agent')?.parameters as
    | { readonly properties: { readonly agent_name: { readonly enum: readonly string[] } } }
    | undefined
  if (!transfer) return { tool: 'pure', args: '{}' }
  const names = transfer.properties.agent_name.enum
  return {
    tool: 'transfer_to_agent',
    args: JSON.stringify({ agent_name: names[Number(call.slice(1)) % names.length] }),
  }
}

/** A short name of everything in a request (FNV-1a). */
function digestOf({ instruction, messages }: ModelRequest): string {
  let hash = 0x811c9dc5
  for (const char of JSON.stringify([instruction, messages])) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193) >>> 0
  }
  return hash.toString(36)
}

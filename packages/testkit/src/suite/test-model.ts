import { type ChatModel, KernelError, type ModelPart, type ModelRequest } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import { type Clause, register } from '../clause.ts'
import { demand, errorText, firstCause, shown } from '../fault.ts'
import { demandNoListeners } from './listeners.ts'
import { madeBy } from './made-by.ts'
import { demandJson, demandName, frozen, isAsyncIterable, promptly } from './patience.ts'

/** Options of `testModel`: the request, and a model that fails. */
export interface TestModelOptions {
  /** @default one user message, no tools */
  readonly request?: ModelRequest
  /** A model whose call fails, to check how its error looks. */
  readonly failing?: () => ChatModel
}

/**
 * The contract of `ChatModel` as tests.
 * @example testModel('myModel', () => myModel())
 */
export function testModel(name: string, make: () => ChatModel, options: TestModelOptions = {}): void {
  checkOptionNames('testModel', options, { request: true, failing: true })
  register(name, modelClauses(make, options))
}

export function modelClauses(factory: () => ChatModel, options: TestModelOptions = {}): readonly Clause[] {
  const make = () => madeBy(factory, 'model')
  const request = frozen(structuredClone(options.request ?? QUESTION))
  const begin = (model: ChatModel, signal: AbortSignal) => streamed(model, request, signal)
  const ask = async (model: ChatModel, signal = new AbortController().signal) => {
    try {
      return await collect(begin(model, signal))
    } catch (error) {
      throw signal.aborted ? error : firstCause(error, (text) => `stream() of your model threw ${text}`, FIX_MODEL)
    }
  }
  const clauses: Clause[] = [
    {
      name: 'has a name',
      todo: 'Give the model a name: it is in records and errors.',
      run: async () => demandName(make().name, 'model'),
    },
    {
      name: 'ends with exactly one finish',
      todo: 'Yield one part of type `finish`, with reason and usage, as the last part of every call.',
      run: async () => demandFinish(await ask(make())),
    },
    {
      name: 'gives parts of known types, as plain JSON',
      todo: `Yield parts of these types only: ${PART_TYPES.join(', ')}.`,
      run: async () => {
        for (const part of await ask(make())) {
          demand(PART_TYPES.includes(part.type), `The model gives a part of the type ${shown(part.type)}`)
          demandJson(part, `A part of the type ${part.type}`)
        }
      },
    },
    {
      name: 'writes each tool call as start, deltas and end under one id',
      todo: 'Yield tool-call-start, tool-call-delta and tool-call-end under the same callId, all before `finish`.',
      run: async () => demandCalls(await ask(make())),
    },
    {
      name: 'counts tokens in whole numbers',
      todo: 'Put `inputTokens` and `outputTokens` as whole numbers into `finish.usage`; 0 if the vendor does not tell.',
      run: async () => {
        const parts = await ask(make())
        demandFinish(parts)
        const usage = parts.flatMap((part) => (part.type === 'finish' ? [part.usage] : []))[0]
        for (const name of ['inputTokens', 'outputTokens']) {
          demand(name in (usage ?? {}), `The finish does not count ${name}: its usage is ${shown(usage)}`)
        }
        for (const [name, count] of Object.entries(usage ?? {})) {
          demand(Number.isSafeInteger(count) && count >= 0, `The finish counts ${shown(count)} ${name}`)
        }
      },
    },
    {
      name: 'answers two requests at once without mixing them',
      todo: 'Keep what belongs to a call in variables of `stream`, not in the model.',
      run: async () => {
        const model = make()
        for (const parts of await Promise.all([ask(model), ask(model)])) {
          demandFinish(parts, 'Of two calls at once, one')
          demandCalls(parts)
        }
      },
    },
    {
      name: 'leaves no listener on the signal',
      todo: 'Remove each listener in a `finally`.',
      run: async () => {
        const { signal } = new AbortController()
        const model = make()
        await Promise.all(Array.from({ length: CALLS }, () => ask(model, signal)))
        await demandNoListeners(signal, 'The model', CALLS)
      },
    },
    {
      name: 'a signal that is aborted already ends the call at once, without a finish',
      todo: 'Call signal.throwIfAborted() before the request, or give the signal to fetch.',
      run: async () => {
        const controller = new AbortController()
        controller.abort(new KernelError('ABORTED', 'test: stop'))
        const outcome = await promptly('The call was aborted and did not settle', ask(make(), controller.signal))
        demand('error' in outcome, 'The signal was aborted before the call, and the model answered all the same')
        await demandNoListeners(controller.signal, 'An aborted call')
      },
    },
    {
      name: 'an abort after any part ends the call at once',
      todo: 'Give the signal to whatever reads the answer, and throw its reason: signal.throwIfAborted() before each part.',
      run: async () => {
        const { length } = await ask(make())
        for (let stop = 1; stop < length; stop++) {
          const controller = new AbortController()
          let seen = 0
          const read = async () => {
            for await (const _ of begin(make(), controller.signal)) {
              if (++seen === stop) controller.abort(new KernelError('ABORTED', 'test: stop'))
            }
          }
          await promptly(`The call was aborted after part ${stop} and did not settle`, read())
          // One part may wait in the stream, and one more at its entrance.
          const more = seen - stop
          demand(more <= 2, `The call was aborted after part ${stop}, and the model gave ${more} more`)
          await demandNoListeners(controller.signal, 'An aborted call')
        }
      },
    },
    {
      name: 'a reader may leave after any part',
      todo: 'In `finally`, cancel the request and wait for nothing that only comes when the answer is read to its end.',
      run: async () => {
        const { length } = await ask(make())
        for (let stop = 1; stop < length; stop++) {
          const { signal } = new AbortController()
          const read = async () => {
            let seen = 0
            for await (const _ of begin(make(), signal)) if (++seen === stop) break
          }
          const outcome = await promptly(`The reader left after part ${stop}, and the stream did not end`, read())
          if ('error' in outcome) throw outcome.error
          await demandNoListeners(signal, 'A stream that was left')
        }
      },
    },
  ]
  const { failing } = options
  if (!failing) return clauses
  const fail = async (model: ChatModel) => collect(begin(model, new AbortController().signal))
  return [
    ...clauses,
    {
      name: 'fails with a KernelError whose code begins with MODEL_',
      todo: "Throw new KernelError('MODEL_FAILED', …, { cause, retryable }), so that a retry knows what it has before it.",
      run: async () => {
        const outcome = await promptly('The call that fails did not settle', fail(madeBy(failing, 'model')))
        demand('error' in outcome, 'The model of `failing` answered, where its call has to fail')
        demand(KernelError.is(outcome.error), `The model failed with ${errorText(outcome.error)}, not a KernelError`)
        const { code } = outcome.error
        demand(code.startsWith('MODEL_'), `The model failed with the code ${code}, which does not begin with MODEL_`)
      },
    },
  ]
}

/** Calls at once on one signal: enough to tell a leak from a listener that goes later. */
const CALLS = 3

const QUESTION: ModelRequest = {
  instruction: 'Answer in one word.',
  messages: [{ id: 'm1', role: 'user', content: 'Hello?' }],
  tools: [],
  options: {},
  step: 'model:0',
  idempotencyKey: 'test/model:0',
}

/** A record, so that the compiler reports a part that is missing here. */
const PARTS: Readonly<Record<ModelPart['type'], true>> = {
  'text-delta': true,
  'reasoning-delta': true,
  'part-end': true,
  file: true,
  'tool-call-start': true,
  'tool-call-delta': true,
  'tool-call-end': true,
  restart: true,
  finish: true,
}
const PART_TYPES: readonly string[] = Object.keys(PARTS)

const FIX_MODEL =
  'Fix that first: every clause asks the model. If it needs another request, give `request` to testModel; a model that is meant to fail is `failing`.'

function streamed(model: ChatModel, request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelPart> {
  const generator = 'Make stream() an async generator: `async *stream(request, { signal }) { … }`.'
  demand(typeof model.stream === 'function', `Your model has no stream(): got ${shown(model.stream)}`, generator)
  const source: unknown = model.stream(request, { signal })
  if (source instanceof Promise) source.catch(() => undefined)
  demand(isAsyncIterable(source), `stream() of your model gave ${shown(source)}, not an async iterable`, generator)
  return source as AsyncIterable<ModelPart>
}

async function collect(source: AsyncIterable<ModelPart>): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of source) {
    const isPart = typeof part === 'object' && part !== null
    demand(isPart, `Your model gave ${shown(part)} as a part`, "Yield objects: { type: 'text-delta', delta: 'Hello' }.")
    parts.push(part)
  }
  return parts
}

function demandFinish(parts: readonly ModelPart[], who = 'The call'): void {
  const finishes = parts.filter(({ type }) => type === 'finish').length
  demand(finishes === 1, `${who} gave ${finishes} parts of type finish, where exactly one is right`)
  const last = parts.at(-1)?.type
  demand(last === 'finish', `${who} gave a part of type ${last} after its finish`)
}

function demandCalls(parts: readonly ModelPart[]): void {
  const open = new Set<string>()
  const seen = new Set<string>()
  for (const part of parts) {
    if (part.type === 'restart') open.clear()
    if (part.type === 'tool-call-start') {
      demand(!seen.has(part.callId), `The model starts tool call ${part.callId} twice`)
      seen.add(part.callId)
      open.add(part.callId)
    }
    if (part.type === 'tool-call-delta') {
      demand(open.has(part.callId), `The model gives arguments for tool call ${part.callId}, which is not open`)
    }
    if (part.type === 'tool-call-end') {
      demand(open.delete(part.callId), `The model ends tool call ${part.callId}, which is not open`)
    }
    if (part.type === 'finish') demand(open.size === 0, `The model never ends tool call ${[...open].join(', ')}`)
  }
}

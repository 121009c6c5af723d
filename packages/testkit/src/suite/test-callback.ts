import { type Agent, type AgentEvent, type Callback, KernelError, type SpanHooks, say } from '@troupe/kernel'
import { checkCallback, openSpan, runNested, startRun } from '@troupe/kernel/run'
import { type Clause, register } from '../clause.ts'
import { demand, errorText, Fault, isFrozenChange, shown } from '../fault.ts'
import { madeBy } from './made-by.ts'
import { demandName, frozen, promptly } from './patience.ts'

/**
 * The contract of `Callback` as tests: it hears every kind of run and is never in the way.
 * @example testCallback('messageLifecycle', () => messageLifecycle({ store }))
 */
export function testCallback(name: string, make: () => Callback): void {
  register(name, callbackClauses(make))
}

export function callbackClauses(factory: () => Callback): readonly Clause[] {
  const make = () => madeBy(factory, 'callback')
  const clauses: Clause[] = [
    {
      name: 'has a name, and hooks that are functions',
      todo: 'Write hooks as functions: `tool: { onEnd(info, output) { … } }`.',
      run: async () => {
        const made = make()
        demandName(made.name, 'callback')
        checkCallback(made)
        const callback = ofRun(made)
        for (const component of COMPONENTS) {
          for (const [name, hook] of Object.entries(callback[component] ?? {})) {
            demand(typeof hook === 'function', `The hook ${component}.${name} is ${shown(hook)}, not a function`)
          }
        }
        checkCallback(callback)
      },
    },
    ...Object.entries(SAMPLE_RUNS).map(([kind, start]) => ({
      name: `hears ${kind} without a failure`,
      todo: `Let the hook take ${kind}: catch what may fail in it, change nothing it is given, and do not wait forever.`,
      run: async () => {
        const callback = watched(make())
        await start([callback.callback])
        await callback.settled()
      },
    })),
    {
      name: 'hears 50 runs at once without a failure',
      todo: 'Keep what belongs to a run in a Map by `info.runId` (or `info.spanId`), not in one variable.',
      run: async () => {
        const callback = watched(make())
        const all = Array.from({ length: 10 }, () => Object.values(SAMPLE_RUNS)).flat()
        await Promise.all(all.map((start) => start([callback.callback])))
        await callback.settled()
      },
    },
    {
      name: 'takes the end of a run whose start it has not heard',
      todo: 'Treat an end without a start as a run of which nothing is known: a callback may be added while runs are under way.',
      run: async () => {
        const { callback, settled } = watched(make())
        const heard: [keyof SpanHooks<never, never>, unknown, unknown][] = []
        const listener: Callback = {
          name: 'listener',
          run: { onEnd: (info, output) => void heard.push(['onEnd', info, output]) },
        }
        await SAMPLE_RUNS['a complete run']([listener])
        const { run } = ofRun(callback)
        for (const [, info, output] of heard) await run?.onEnd?.(info as never, output as never)
        await settled()
      },
    },
  ]
  return clauses
}

const COMPONENTS = ['run', 'agent', 'model', 'tool'] as const

/** The callback of one run. */
function ofRun(callback: Callback): Callback {
  return callback.forRun?.() ?? callback
}

/** Stands in front of a callback: freezes what it is given and keeps what goes wrong in it. */
function watched(given: Callback): { readonly callback: Callback; settled(): Promise<void> } {
  const pending: { readonly hook: string; readonly returned: Promise<void> }[] = []
  const failures: { readonly hook: string; readonly error: unknown }[] = []
  const hooksOf = (inner: Callback, component: (typeof COMPONENTS)[number]) => {
    const hooks = inner[component]
    if (!hooks) return {}
    const wrapped = Object.keys(hooks).map((hook) => [
      hook,
      (info: unknown, payload: unknown) => {
        try {
          const call = hooks[hook as keyof typeof hooks] as (info: unknown, payload: unknown) => void | Promise<void>
          const returned = call.call(hooks, frozen(info), guarded(payload))
          if (returned) {
            const settled = Promise.resolve(returned)
            settled.catch(() => undefined)
            pending.push({ hook: `${component}.${hook}`, returned: settled })
          }
        } catch (error) {
          failures.push({ hook: `${component}.${hook}`, error })
        }
      },
    ])
    return { [component]: Object.fromEntries(wrapped) }
  }
  const watchedHooks = (inner: Callback): Callback =>
    Object.assign({ name: inner.name }, ...COMPONENTS.map((component) => hooksOf(inner, component)))
  return {
    callback: { ...watchedHooks(given), ...(given.forRun && { forRun: () => watchedHooks(ofRun(given)) }) },
    async settled() {
      for (const { hook, returned } of pending) {
        const outcome = await promptly(`The hook ${hook} did not settle`, returned)
        if ('error' in outcome) failures.push({ hook, error: outcome.error })
      }
      const [failure] = failures
      if (!failure) return
      if (isFrozenChange(failure.error)) throw failure.error
      const { hook, error } = failure
      throw new Fault(`The hook ${hook} failed with ${errorText(error)}`, undefined, { cause: error })
    },
  }
}

/** Freezes what is plain data; errors and tools keep what they need to work. */
function guarded(payload: unknown): unknown {
  return payload instanceof Error ? payload : frozen(payload)
}

const input = { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] } as const

const greeter: Agent = {
  name: 'greeter',
  description: 'Calls a model and a tool, by name only.',
  async *run(_input, ctx) {
    const request = { instruction: '', messages: [], tools: [], options: {}, step: 'model:0', idempotencyKey: 'k' }
    const model = openSpan(ctx, 'model', 'scripted', request)
    const message = { id: ctx.ids.next(), role: 'assistant', content: 'Hi' } as const
    yield* say(ctx, 'Hi')
    model?.end({ message, usage: { inputTokens: 1, outputTokens: 1 }, finishReason: 'stop', model: 'scripted' })
    const calls = ['c1', 'c2'].map((callId, index) => ({
      span: openSpan(ctx, 'tool', 'look', { ...CALL, callId, step: `tool:0:${index}` }),
      callId,
    }))
    for (const { span, callId } of calls.reverse()) span?.end({ content: `result of ${callId}` })
  },
}
const CALL = { name: 'look', arguments: '{}', idempotencyKey: 'k' }

const failing: Agent = {
  name: 'failing',
  description: 'Says half and throws.',
  async *run(_input, ctx) {
    const span = openSpan(ctx, 'tool', 'look', { ...CALL, callId: 'c1', step: 'tool:0:0' })
    span?.end({ content: 'no', error: { code: 'TOOL_FAILED', message: 'no' } })
    yield { type: 'message-start', messageId: 'm1' }
    yield { type: 'text-delta', messageId: 'm1', delta: 'Ha' }
    throw new KernelError('MODEL_FAILED', 'test: gone')
  },
}

const outer: Agent = {
  name: 'outer',
  description: 'Runs another agent inside a tool call.',
  async *run(_input, ctx) {
    const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
    const span = openSpan(ctx, 'tool', 'delegate', { ...CALL, callId: 'c1', step: 'tool:0:0' })
    const { text } = await runNested(greeter, input, ctx.derive({ step: 'tool:0:0', call }))
    span?.end({ content: text })
    yield* say(ctx, text)
  },
}

const asking: Agent = {
  name: 'asking',
  description: 'Asks a person.',
  async *run(_input, ctx) {
    yield* say(ctx, String(await ctx.interrupt({ reason: 'input' })))
  },
}

const SAMPLE_RUNS = {
  'a complete run': async (callbacks: readonly Callback[]) => {
    await startRun(greeter, input, { callbacks })
  },
  'a failed run': async (callbacks: readonly Callback[]) => {
    await promptly('A failed run did not end', startRun(failing, input, { callbacks }))
  },
  'a run that its consumer left': async (callbacks: readonly Callback[]) => {
    for await (const event of startRun(greeter, input, { callbacks })) if (isText(event)) break
  },
  'a run inside a tool call': async (callbacks: readonly Callback[]) => {
    await startRun(outer, input, { callbacks })
  },
  'an interrupted run': async (callbacks: readonly Callback[]) => {
    await startRun(asking, input, { callbacks, canInterrupt: true })
  },
}

function isText({ type }: AgentEvent): boolean {
  return type === 'text-delta'
}

import { describe, expect, it } from 'vitest'
import { createRunContext } from '../run.ts'
import type { ChatModel, ModelPart, ModelRequest } from './model.ts'
import { callModel, type WrapModelCall, wrapOwnCalls } from './own-calls.ts'

const REQUEST: ModelRequest = {
  instruction: 'Summarise.',
  messages: [],
  tools: [],
  options: {},
  step: 's',
  idempotencyKey: 'k',
}
const usage = { inputTokens: 1, outputTokens: 1 }

function modelOf(finish: Partial<ModelPart> = {}): ChatModel & { readonly signals: AbortSignal[] } {
  const signals: AbortSignal[] = []
  return {
    name: 'small',
    signals,
    async *stream(_, { signal }) {
      signals.push(signal)
      yield { type: 'text-delta', delta: 'Short.' }
      yield { type: 'finish', reason: 'stop', usage, ...finish } as ModelPart
    },
  }
}

function noting(name: string, notes: string[]): WrapModelCall {
  return async function* (ctx, request, next) {
    notes.push(`${name} of ${request.instruction}`)
    yield* next(ctx, request)
    notes.push(`${name} done`)
  }
}

describe('a model call that a handler makes by itself', () => {
  it('names its model in the last part, unless that says another name, and stops with the run', async () => {
    const ctx = createRunContext()
    const model = modelOf()
    const parts = await Array.fromAsync(callModel(model)(ctx, REQUEST))
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'stop', usage, model: 'small' })
    expect(model.signals).toEqual([ctx.signal])
    const dated = await Array.fromAsync(callModel(modelOf({ model: 'small-2026' }))(ctx, REQUEST))
    expect(dated.at(-1)).toMatchObject({ model: 'small-2026' })
  })

  it('goes through each wrap once, the first outermost', async () => {
    const notes: string[] = []
    const [outer, inner] = [noting('outer', notes), noting('inner', notes)]
    let ctx = createRunContext()
    for (const wrap of [outer, inner, outer]) ctx = wrapOwnCalls(ctx, wrap)
    await Array.fromAsync(callModel(modelOf())(ctx, REQUEST))
    expect(notes).toEqual(['outer of Summarise.', 'inner of Summarise.', 'inner done', 'outer done'])
  })

  it('is refused by a wrap that throws, and then the model is not called', async () => {
    const model = modelOf()
    const ctx = wrapOwnCalls(createRunContext(), () => {
      throw new Error('spent')
    })
    await expect(async () => Array.fromAsync(callModel(model)(ctx, REQUEST))).rejects.toThrow('spent')
    expect(model.signals).toEqual([])
  })
})

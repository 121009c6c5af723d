import { setImmediate as nextTick } from 'node:timers/promises'
import { type ChatModel, type ModelPart, stream } from '@troupe/kernel'

/** Options of `wordModel`. */
export interface WordModelOptions {
  /** Whether each word comes in its own round of the event loop, as from a socket. @default false */
  readonly oneByOne?: boolean
}

/** A model without latency that answers with this number of deltas, one word each. */
export function wordModel(deltas: number, { oneByOne = false }: WordModelOptions = {}): ChatModel {
  return {
    name: 'bench',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        for (let i = 0; i < deltas; i++) {
          if (oneByOne) await nextTick()
          const wait = sink.write({ type: 'text-delta', delta: 'word ' })
          if (wait) await wait
        }
        await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
      }),
  }
}

/** The request for such a model where it is called directly. */
export const EMPTY_REQUEST = {
  instruction: '',
  messages: [],
  tools: [],
  options: {},
  step: '',
  idempotencyKey: '',
} as const

import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ChatModel, type ModelPart, stream } from '@troupe/kernel'

/** How a talker talks. */
export interface Talk {
  /** Whether each word comes in a turn of the event loop of its own, as from a socket. @default false */
  readonly oneByOne?: boolean
}

/** A model without latency that says so many words. */
export function talker(deltas: number, { oneByOne = false }: Talk = {}): ChatModel {
  return {
    name: 'bench',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        for (let i = 0; i < deltas; i++) {
          if (oneByOne) await nextTurn()
          const wait = sink.write({ type: 'text-delta', delta: 'word ' })
          if (wait) await wait
        }
        await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
      }),
  }
}

/** What such a model is asked, where it is called by hand. */
export const ASKED = { instruction: '', messages: [], tools: [], options: {}, step: '', idempotencyKey: '' } as const

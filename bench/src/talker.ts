import { type ChatModel, type ModelPart, stream } from '@troupe/kernel'

/** A model without latency that says so many words. */
export function talker(deltas: number): ChatModel {
  return {
    name: 'bench',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        for (let i = 0; i < deltas; i++) {
          const wait = sink.write({ type: 'text-delta', delta: 'word ' })
          if (wait) await wait
        }
        await sink.write({ type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } })
      }),
  }
}

/** What such a model is asked, where it is called by hand. */
export const ASKED = { instruction: '', messages: [], tools: [], options: {}, step: '', idempotencyKey: '' } as const

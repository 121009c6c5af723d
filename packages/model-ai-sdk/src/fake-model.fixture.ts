import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider'

/** The script of a fake provider. */
export interface FakeScript {
  readonly provider?: string
  readonly parts?: readonly unknown[]
  /** The end after the parts. @default 'close' */
  readonly end?: 'close' | 'hang' | { readonly error: unknown }
  /** Replaces the opening of the stream. */
  readonly open?: (stream: ReadableStream<LanguageModelV4StreamPart>) => PromiseLike<{
    stream: ReadableStream<LanguageModelV4StreamPart>
  }>
}

/** A provider model made of a script, and a record of its use. */
export type FakeModel = LanguageModelV4 & {
  readonly calls: LanguageModelV4CallOptions[]
  /** How many parts were read. */
  readonly sent: number
  /** The reasons why its streams were cancelled. */
  readonly cancelled: unknown[]
}

export function fakeModel({ provider = 'fake.chat', parts = [], end = 'close', open }: FakeScript = {}): FakeModel {
  const calls: LanguageModelV4CallOptions[] = []
  const cancelled: unknown[] = []
  let sent = 0
  return {
    specificationVersion: 'v4',
    provider,
    modelId: 'fake-1',
    supportedUrls: {},
    calls,
    cancelled,
    get sent() {
      return sent
    },
    doGenerate: () => Promise.reject(new Error('fake model: only streams')),
    async doStream(options) {
      calls.push(options)
      let index = 0
      const stream = new ReadableStream<LanguageModelV4StreamPart>(
        {
          pull(controller) {
            if (index < parts.length) {
              sent++
              controller.enqueue(parts[index++] as LanguageModelV4StreamPart)
            } else if (end === 'close') controller.close()
            else if (end === 'hang') return new Promise(() => {})
            else controller.error(end.error)
            return undefined
          },
          cancel(reason) {
            cancelled.push(reason)
          },
        },
        { highWaterMark: 0 },
      )
      return open ? open(stream) : { stream }
    },
  }
}

export function usage(input = 3, output = 5): LanguageModelV4Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  }
}

export function finish(
  unified: Extract<LanguageModelV4StreamPart, { type: 'finish' }>['finishReason']['unified'] = 'stop',
): LanguageModelV4StreamPart {
  return { type: 'finish', finishReason: { unified, raw: undefined }, usage: usage() }
}

export function text(id: string, ...deltas: string[]): LanguageModelV4StreamPart[] {
  return [
    { type: 'text-start', id },
    ...deltas.map((delta): LanguageModelV4StreamPart => ({ type: 'text-delta', id, delta })),
    { type: 'text-end', id },
  ]
}

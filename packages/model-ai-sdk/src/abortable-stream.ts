import { KernelError, type PipeStream, type Sink, stream } from '@troupe/kernel'
import { type AbortScope, abortScope, PIPE } from '@troupe/kernel/kit'

/**
 * A stream whose producer has an abort scope of its own.
 * Contract: lazy; the scope follows `parent` while the producer runs; a reader that leaves aborts it, even while the producer waits for something other than the reader.
 */
export function abortableStream<T>(
  parent: () => AbortSignal,
  produce: (sink: Sink<T>, scope: AbortScope) => Promise<void>,
): PipeStream<T> {
  let scope: AbortScope | undefined
  const inner = stream<T>((sink) => {
    const opened = abortScope(parent())
    scope = opened
    return produce(sink, opened).finally(() => opened[Symbol.dispose]())
  })
  return {
    [PIPE]: (sink) => inner[PIPE](sink),
    [Symbol.asyncIterator]() {
      const iterator = inner[Symbol.asyncIterator]()
      return {
        next: () => iterator.next(),
        async return() {
          scope?.abort(new KernelError('ABORTED', 'model call: the reader has left'))
          scope?.[Symbol.dispose]()
          await iterator.return?.()
          return { value: undefined, done: true }
        },
      }
    },
  }
}

import { KernelError } from '@troupe/kernel'

/** Counts the requests and streams of each user in this process. */
export class Streams {
  readonly #most: number
  readonly #counts: Map<string, number> = new Map()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    let size = 0
    for (const count of this.#counts.values()) size += count
    return size
  }

  /** Counts a request, and the stream that answers it. Contract: throws `USER_LIMIT` if the user has too many; gives the function that ends it. */
  enter(user: string): () => void {
    const count = this.#counts.get(user) ?? 0
    if (count >= this.#most) {
      const message = 'You have too many requests and streams open. Close one, or try again later.'
      throw new KernelError('USER_LIMIT', message, { retryable: true })
    }
    this.#counts.set(user, count + 1)
    let open = true
    return () => {
      if (!open) return
      open = false
      const left = (this.#counts.get(user) ?? 1) - 1
      if (left === 0) this.#counts.delete(user)
      else this.#counts.set(user, left)
    }
  }
}

/** The same response; calls `ended` once its stream has ended or its reader has left. */
export function whenEnded(response: Response, ended: () => void): Response {
  if (response.body && response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const { status, headers } = response
    return new Response(watched(response.body, ended), { status, headers })
  }
  ended()
  return response
}

/** The same stream; calls `end` once it has ended in any way. */
function watched(body: ReadableStream<Uint8Array>, end: () => void): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { value, done } = await reader.read()
          if (!done) return controller.enqueue(value)
          end()
          controller.close()
        } catch (error) {
          end()
          controller.error(error)
        }
      },
      async cancel(reason) {
        end()
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

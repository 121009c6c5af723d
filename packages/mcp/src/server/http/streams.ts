import { KernelError } from '@troupe/kernel'

/** Counts the open streams of each user in this process. */
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

  /** Contract: throws `USER_LIMIT` if the user has too many. */
  check(user: string): void {
    if ((this.#counts.get(user) ?? 0) < this.#most) return
    const message = 'You have too many streams open. Close one, or try again later.'
    throw new KernelError('USER_LIMIT', message, { retryable: true })
  }

  /** Counts a response until its stream has ended or its reader has left; then it calls `ended`. */
  count(user: string, response: Response, ended: () => void): Response {
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) {
      ended()
      return response
    }
    this.#counts.set(user, (this.#counts.get(user) ?? 0) + 1)
    let open = true
    const end = () => {
      if (!open) return
      open = false
      const left = (this.#counts.get(user) ?? 1) - 1
      if (left === 0) this.#counts.delete(user)
      else this.#counts.set(user, left)
      ended()
    }
    const { status, headers } = response
    return new Response(watched(response.body, end), { status, headers })
  }
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

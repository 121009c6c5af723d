import type { AgUiEvent } from '@troupe/ag-ui'

/** One event of a stream; `seq` is its position in the log of its run. */
export interface Frame {
  readonly seq: number | undefined
  readonly event: AgUiEvent
}

/** Reads the events of a response. Contract: throws if nothing comes for `silenceMs`, or if the connection breaks. */
export async function* framesOf(response: Response, silenceMs: number): AsyncGenerator<Frame, void> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { value, done } = await within(silenceMs, reader.read())
      if (done) return
      const parts = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) {
        const frame = frameOf(part)
        if (frame) yield frame
      }
    }
  } finally {
    reader.cancel().catch(() => undefined)
  }
}

function frameOf(text: string): Frame | undefined {
  const data = /^data: (.*)$/m.exec(text)?.[1]
  if (data === undefined) return undefined
  const seq = /^id: .*:(\d+)$/m.exec(text)?.[1]
  return { seq: seq === undefined ? undefined : Number(seq), event: JSON.parse(data) as AgUiEvent }
}

/** Waits for work. Contract: rejects after this time. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing came for ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

import type { RunAgentInput } from '@troupe/ag-ui'

/** The owner of all threads. */
export const OWNER = { app: 'bench', user: 'bench' } as const

/** The input of a run with one question. */
export function inputOf(threadId: string, runId: string = `r-${threadId}`): RunAgentInput {
  const message = { id: `u-${runId}`, role: 'user', content: 'Go.' } as const
  return { threadId, runId, protocolVersion: '1.0', messages: [message], tools: [], context: [] }
}

/** The HTTP request of a run with one question. */
export function requestOf(threadId: string, runId?: string): Request {
  const headers = { 'content-type': 'application/json' }
  return new Request('http://localhost/', { method: 'POST', headers, body: JSON.stringify(inputOf(threadId, runId)) })
}

/** Reads a whole response; returns its size and its last bytes. */
export async function readWhole(response: Response): Promise<{ readonly bytes: number; readonly end: string }> {
  let last: Uint8Array = new Uint8Array()
  let bytes = 0
  const reader = response.body?.getReader()
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true }
    if (done) return { bytes, end: Buffer.from(last.subarray(-1_000)).toString() }
    last = value ?? last
    bytes += last.length
  }
}

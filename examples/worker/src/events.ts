/** The fields of an AG-UI event that this example reads. */
export interface SeenEvent {
  readonly type: string
  readonly delta?: string
  readonly toolCallName?: string
  readonly content?: string
}

/** Makes the request that asks a question over AG-UI. */
export function questionOf(url: string, threadId: string, content: string, signal?: AbortSignal): Request {
  const runId = crypto.randomUUID()
  return new Request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({
      threadId,
      runId,
      messages: [{ id: `${runId}-question`, role: 'user', content }],
      tools: [],
      context: [],
    }),
    ...(signal && { signal }),
  })
}

/** Reads a response to its end and returns its events. */
export async function eventsOf(response: Response): Promise<readonly SeenEvent[]> {
  return (await response.text()).split('\n\n').flatMap((frame) => {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    return data ? [JSON.parse(data)] : []
  })
}

/** Joins the text of all text events. */
export function textIn(events: readonly SeenEvent[]): string {
  return events.map(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? delta : '')).join('')
}

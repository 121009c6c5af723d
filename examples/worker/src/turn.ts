import { deskHandler } from './handler.ts'

/** Asks one question of a handler in the same place: no server, no network. Gives the AG-UI events. */
export async function turn(question: string): Promise<readonly { readonly type: string }[]> {
  await using handler = deskHandler()
  const response = await handler(
    new Request('http://localhost/', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({
        threadId: 't1',
        runId: 'r1',
        messages: [{ id: 'm1', role: 'user', content: question }],
        tools: [],
        context: [],
      }),
    }),
  )
  const frames = (await response.text()).split('\n\n')
  return frames.flatMap((frame) => {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    return data ? [JSON.parse(data)] : []
  })
}

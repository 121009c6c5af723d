import { agUiServer } from '@troupe/ag-ui/node'
import type { Store } from '@troupe/kernel'
import { random } from './random.ts'
import { asking, talkerHandler } from './talker.ts'

/** What became of runs that were stopped. */
export interface CancelFigures {
  readonly cancels: number
  /** From the request to stop to the terminal event, the slowest. */
  readonly slowestMs: number
  /** Streams without exactly one terminal, which says cancelled or finished. */
  readonly badEnds: number
  /** Messages sent right after, which were not answered. */
  readonly unusable: number
}

/** Stops runs at any moment, and sends a message to the same thread at once, be it on the answer of the stop or beside it. */
export async function cancels(store: Store, count: number, beside: boolean, seed = 2): Promise<CancelFigures> {
  const handler = talkerHandler(store)
  await using server = await agUiServer(handler)
  const number = random(seed)
  const name = beside ? 'beside' : 'after'
  const send = (body: string) =>
    fetch(server.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  let slowestMs = 0
  let badEnds = 0
  let unusable = 0
  for (let i = 0; i < count; i++) {
    const threadId = `${name}-${i}`
    const pause = number(3) === 0 ? 0 : 1 + number(10)
    const stream = await send(asking(threadId, `${threadId}-a`, { deltas: number(400), pause, hang: number(2) === 0 }))
    const whole = stream.text().then((text) => ({ text, at: performance.now() }))
    for (let turns = number(6); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve))
    const from = performance.now()
    const stop = fetch(`${server.url}/threads/${threadId}/runs/${threadId}-a/cancel`, { method: 'POST' })
    if (!beside) await stop
    const next = send(asking(threadId, `${threadId}-b`, { deltas: 3 }))
    await stop
    const answer = await (await next).text()
    // Beside the stop the message may have come first, and is then refused as any is while a run is under way.
    const again = !beside || answer.includes('RUN_FINISHED') ? answer : await sentAgain(send, threadId)
    if (!again.includes('RUN_FINISHED')) unusable++
    const { text, at } = await whole
    slowestMs = Math.max(slowestMs, at - from)
    const ends = text.split(/"type":"RUN_(?:FINISHED|ERROR)"/).length - 1
    if (ends !== 1 || text.includes('"RUN_ERROR"')) badEnds++
  }
  await handler.stop(0)
  return { cancels: count, slowestMs: Math.round(slowestMs), badEnds, unusable }
}

async function sentAgain(send: (body: string) => Promise<Response>, threadId: string): Promise<string> {
  return (await send(asking(threadId, `${threadId}-c`, { deltas: 3 }))).text()
}

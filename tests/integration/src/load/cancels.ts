import { agUiServer } from '@troupe/ag-ui/node'
import type { Store } from '@troupe/kernel'
import { loadHandler } from './load-handler.ts'
import { random } from './random.ts'
import { runInput } from './run-input.ts'

/** Figures of runs that were cancelled. */
export interface CancelFigures {
  readonly cancels: number
  /** The longest time from a cancel request to the terminal event. */
  readonly slowestMs: number
  /** Streams without exactly one terminal event, or with an error. */
  readonly badEnds: number
  /** Messages right after a cancel that were not answered. */
  readonly unusable: number
}

/** Cancels runs at random moments and sends another message to the same thread, after the answer to the cancel or at the same time. */
export async function cancels(store: Store, count: number, atOnce: boolean, seed = 2): Promise<CancelFigures> {
  const handler = loadHandler(store)
  await using server = await agUiServer(handler)
  const below = random(seed)
  const results: CancelResult[] = []
  for (let i = 0; i < count; i++) {
    results.push(await cancelOnce(server.url, `${atOnce ? 'beside' : 'after'}-${i}`, atOnce, below))
  }
  await handler.stop(0)
  return {
    cancels: count,
    slowestMs: Math.round(Math.max(...results.map(({ ms }) => ms))),
    badEnds: results.filter(({ badEnd }) => badEnd).length,
    unusable: results.filter(({ usable }) => !usable).length,
  }
}

interface CancelResult {
  readonly ms: number
  readonly badEnd: boolean
  readonly usable: boolean
}

async function cancelOnce(
  url: string,
  threadId: string,
  atOnce: boolean,
  below: (limit: number) => number,
): Promise<CancelResult> {
  const send = (run: string, answer: Parameters<typeof runInput>[2]) => {
    const body = runInput(threadId, `${threadId}-${run}`, answer)
    return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  }
  const pause = below(3) === 0 ? 0 : 1 + below(10)
  const stream = await send('a', { deltas: below(400), pause, hang: below(2) === 0 })
  const ended = stream.text().then((text) => ({ text, at: performance.now() }))
  for (let rounds = below(6); rounds > 0; rounds--) await new Promise((resolve) => setImmediate(resolve))
  const from = performance.now()
  const cancel = fetch(`${url}/threads/${threadId}/runs/${threadId}-a/cancel`, { method: 'POST' })
  if (!atOnce) await cancel
  const next = send('b', { deltas: 3 })
  await cancel
  const answer = await (await next).text()
  // At the same time as the cancel, the message may arrive first and is refused while the run is active.
  const refused = atOnce && !answer.includes('RUN_FINISHED')
  const last = refused ? await (await send('c', { deltas: 3 })).text() : answer
  const { text, at } = await ended
  const terminals = text.split(/"type":"RUN_(?:FINISHED|ERROR)"/).length - 1
  return {
    ms: at - from,
    badEnd: terminals !== 1 || text.includes('"RUN_ERROR"'),
    usable: last.includes('RUN_FINISHED'),
  }
}

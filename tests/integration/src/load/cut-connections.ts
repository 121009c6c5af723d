import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { agUiServer } from '@troupe/ag-ui/node'
import type { Store } from '@troupe/kernel'
import { cuttingProxy } from './cutting-proxy.ts'
import { loadHandler } from './load-handler.ts'
import { random } from './random.ts'

/** Counts of runs whose connections were cut. */
export interface CutFigures {
  readonly runs: number
  readonly cuts: number
  readonly gaps: number
  readonly duplicates: number
}

const DELTAS = 200
const SIZE = 6
const LENGTH = DELTAS * SIZE

/** Runs agents over connections that are cut one to five times each, with clients that reconnect. */
export async function cutConnections(store: Store, runs: number, seed = 1): Promise<CutFigures> {
  const handler = loadHandler(store)
  await using server = await agUiServer(handler)
  const number = random(seed)
  let left = 0
  await using proxy = await cuttingProxy(server.url, () => (left-- > 0 ? 200 + number(9_000) : undefined))
  let gaps = 0
  let duplicates = 0
  for (let run = 0; run < runs; run++) {
    left = 1 + number(5)
    const agent = new ResumableHttpAgent({
      url: proxy.url,
      threadId: `cut-${run}`,
      reconnect: { pauseMs: (attempt) => (attempt === 0 ? 0 : 2) },
      // A new connection for each request, so that each can be cut.
      headers: { connection: 'close' },
    })
    agent.messages = [
      { id: 'u1', role: 'user', content: JSON.stringify({ deltas: DELTAS, size: SIZE, pause: 1 + number(60) }) },
    ]
    let seen = 0
    let terminals = 0
    await agent.runAgent(
      { runId: `cut-${run}` },
      {
        onTextMessageContentEvent: ({ event: { delta } }) => {
          // Pieces that a client reads after the end of a run come joined.
          seen += delta.length
        },
        onEvent: ({ event: { type } }) => {
          if (type === 'RUN_FINISHED' || type === 'RUN_ERROR') terminals++
        },
      },
    )
    if (seen < LENGTH || terminals < 1) gaps++
    if (seen > LENGTH || terminals > 1) duplicates++
  }
  await handler.stop(0)
  return { runs, cuts: proxy.cuts, gaps, duplicates }
}

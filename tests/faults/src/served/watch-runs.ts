import type { Findings } from '../checks/findings.ts'
import type { Random } from '../random.ts'
import { framesOf } from './frames-of.ts'
import { pause, type Talker } from './talker.ts'

const WATCH_MS = 400

/** Lets others follow the runs of talkers through any server, as a second tab of a page does, until the work is done. */
export async function watchRuns(
  talkers: readonly Talker[],
  url: () => string,
  random: Random,
  findings: Findings,
  work: Promise<unknown>,
): Promise<void> {
  let done = false
  const over = work.finally(() => {
    done = true
  })
  while (!done) {
    await Promise.race([over, pause(30 + random.below(60))])
    const { ref, turns } = random.pick(talkers)
    const turn = turns.at(-1)
    if (!turn || turn.ended || done) continue
    const path = `/threads/${ref.threadId}/runs/${turn.runId}?protocolVersion=1.0`
    const response = await fetch(url() + path, { headers: { authorization: ref.user } }).catch(() => undefined)
    if (!response) continue
    findings.check(
      'a follower gets a stream, 404 or 503',
      [200, 404, 409, 503].includes(response.status),
      response.status,
    )
    if (response.status === 200) await readFor(WATCH_MS, response)
    else await response.body?.cancel()
  }
}

async function readFor(ms: number, response: Response): Promise<void> {
  const until = performance.now() + ms
  try {
    for await (const _ of framesOf(response, ms)) if (performance.now() > until) return
  } catch {
    // Nothing came, or the server cut it.
  }
}

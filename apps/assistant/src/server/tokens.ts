import type { Store, ThreadRef } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

/** Tokens by message, and what they cost in dollars, if their model has a price. */
export type TokensByMessage = Record<
  string,
  { readonly input: number; readonly output: number; readonly cost?: number }
>

const MOST_RUNS = 200
/** Records in one query: each has the text of its run. */
const PAGE = 20

/** Loads the tokens of the messages of a conversation, those of its newest runs. */
export async function tokensByMessage({ records }: Store, ref: ThreadRef): Promise<TokensByMessage> {
  const tokens: TokensByMessage = {}
  let runs = 0
  for await (const page of pages(PAGE, (query) => records.runs(ref, { newestFirst: true, ...query }))) {
    for (const { runId } of page) {
      for (const { messageId, usage } of await records.modelCalls(ref, runId)) {
        if (messageId === undefined) continue
        const { inputTokens: input, outputTokens: output, cost } = usage
        tokens[messageId] = { input, output, ...(cost !== undefined && { cost }) }
      }
    }
    runs += page.length
    if (runs >= MOST_RUNS) break
  }
  return tokens
}

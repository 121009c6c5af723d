import type { Store, ThreadRef } from '@troupe/kernel'
import { pages } from '@troupe/kernel/kit'

/** Tokens by message. */
export type TokensByMessage = Record<string, { readonly input: number; readonly output: number }>

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
        if (messageId !== undefined) tokens[messageId] = { input: usage.inputTokens, output: usage.outputTokens }
      }
    }
    runs += page.length
    if (runs >= MOST_RUNS) break
  }
  return tokens
}

import type { Store, ThreadRef } from '@troupe/kernel'

/** Tokens by message. */
export type TokensByMessage = Record<string, { readonly input: number; readonly output: number }>

/** Loads the tokens of the messages of a conversation. */
export async function tokensByMessage({ records }: Store, ref: ThreadRef): Promise<TokensByMessage> {
  const tokens: TokensByMessage = {}
  for (const { runId } of await records.runs(ref, { newestFirst: true, limit: 200 })) {
    for (const { messageId, usage } of await records.modelCalls(ref, runId)) {
      if (messageId !== undefined) tokens[messageId] = { input: usage.inputTokens, output: usage.outputTokens }
    }
  }
  return tokens
}

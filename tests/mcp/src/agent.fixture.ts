import { fileURLToPath } from 'node:url'
import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import type { Json, Store } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import type { McpCommand, McpTools } from '@troupe/mcp'
import { type ScriptedModel, scriptedModel } from '@troupe/testkit'

/** The owner and thread of most tests. */
export const SESSION = { app: 'test', user: 'ann', threadId: 't1' }

/** A call that the model makes. */
export type Call = { readonly name: string; readonly arguments?: Json }

/** A runner whose model makes these calls, one turn each, and then ends. */
export function runnerFor(
  tools: McpTools,
  turns: readonly (readonly Call[])[],
  store: Store = memoryStore(),
): ReturnType<typeof runner> & { readonly model: ScriptedModel } {
  const model = scriptedModel([...turns.map((calls) => ({ toolCalls: calls as never })), 'The end.'])
  const agent = chatModelAgent({ name: 'guide', model, handlers: [tools] })
  return { model, ...runner({ agent, store }) }
}

/** The desk as a child process. */
export function deskCommand(generation: 'stateful' | 'both', file?: string): McpCommand {
  const program = fileURLToPath(new URL('servers/desk-stdio.ts', import.meta.url))
  return {
    command: process.execPath,
    args: ['--no-warnings', program, generation, ...(file === undefined ? [] : [file])],
    trusted: true,
  }
}

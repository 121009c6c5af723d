import { chatModelAgent } from '@troupe/chat-model'
import { compaction, offload, promptCache, toolSearch } from '@troupe/context'
import { type AgentHandler, defineTool, KernelError } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type ScriptedTurn, scriptedModel, testReplay } from '@troupe/testkit'

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: { type: 'object' },
  invoke: () => 'x'.repeat(400),
})
const calling = (name: string, args = {}): ScriptedTurn => ({
  toolCalls: [{ name, arguments: args }],
  usage: { inputTokens: 1_000, outputTokens: 1 },
})

/** Everything that a process makes anew. */
const agentOf = (script: { readonly [step: string]: ScriptedTurn }, handlers: () => readonly AgentHandler[]) => () =>
  chatModelAgent({ name: 'a', model: scriptedModel(script), tools: [look], handlers: handlers() })

const small = () =>
  scriptedModel([({ messages }) => `## Facts\n- ${JSON.stringify(messages).length} characters`], { repeat: true })
const store = memoryStore()
const session = { app: 'test', user: 'ann', threadId: 't' }
await store.threads.open(session)

const looks = Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`model:${i}`, calling('look')]))

testReplay(
  'compaction, in the middle of a run',
  agentOf({ ...looks, 'model:6': calling('read_history', { query: 'look' }), 'model:7': 'Done.' }, () => [
    compaction({ model: small(), maxTokens: 900, keepTokens: 250, store }),
  ]),
)

testReplay(
  'compaction that fails',
  agentOf({ ...looks, 'model:6': 'Done.' }, () => [
    compaction({
      model: scriptedModel([{ error: { at: 'mid', error: new Error('no') } }], { repeat: true }),
      maxTokens: 900,
      keepTokens: 250,
    }),
  ]),
)

/** Refuses what is too long. */
const refusing = (): AgentHandler => ({
  name: 'refusing',
  wrapModelCall(ctx, request, next) {
    if (request.messages.length < 7) return next(ctx, request)
    throw new KernelError('MODEL_CONTEXT_EXCEEDED', 'too long')
  },
})
testReplay(
  'compaction of what the model refuses',
  agentOf({ ...looks, 'model:6': 'Done.' }, () => [
    compaction({ model: small(), maxTokens: 9_000, keepTokens: 250, store }),
    refusing(),
  ]),
)

const many = Array.from({ length: 30 }, (_, i) =>
  defineTool({
    name: `tool_${i}`,
    description: `Does ${i}.`,
    parameters: { type: 'object' },
    invoke: () => 'y'.repeat(300),
  }),
)
testReplay(
  'tool search, large results and prompt caching',
  () =>
    chatModelAgent({
      name: 'a',
      model: scriptedModel({
        'model:0': calling('search_tools', { query: 'tool_7' }),
        'model:1': calling('tool_7'),
        'model:2': calling('search_tools', { query: '12' }),
        'model:3': calling('read_result', { id: 'model:1-call-1', from: 10 }),
        'model:4': 'Done.',
      }),
      tools: many,
      handlers: [toolSearch(), offload({ store, maxChars: 100, previewChars: 10 }), promptCache()],
    }),
  { settings: { session } },
)

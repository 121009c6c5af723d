import { appendFileSync } from 'node:fs'
import { agUiHandler } from '@troupe/ag-ui'
import { agUiServer } from '@troupe/ag-ui/node'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, runner } from '@troupe/flow'
import { type ChatModel, defineTool, type ModelPart, textOf } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { sqliteStore } from '@troupe/store-sqlite'

/** A server process to be killed. It sends its address to its parent, notes what its tools do in a file, stops when it gets a message, and ends with its parent. It kills itself before it records the end of the run `unrecorded`. */
const [, , path = '', notes = '', unrecorded = ''] = process.argv
process.on('disconnect', () => process.exit(0))

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const note = (line: string) => appendFileSync(notes, `${line}\n`)

/** How long a run takes between its last step and its last commit: longer if the question says so, for tests that have to meet this moment on a busy machine. */
let endMs = 300

/** Answers slowly; calls the tool that the question names first. */
const model = (calls: RegExp): ChatModel => ({
  name: 'slow',
  async *stream({ messages, step }): AsyncGenerator<ModelPart> {
    const usage = { inputTokens: 10, outputTokens: 5 }
    const last = messages.at(-1)
    const call = last?.role === 'user' ? calls.exec(textOf(last.content))?.[0] : undefined
    if (last?.role === 'user' && textOf(last.content).includes('slowly')) endMs = 3_000
    note(`model ${step}`)
    for (const delta of (call ? 'I am on it. ' : 'That is all that I have found.').split(/(?<= )/)) {
      yield { type: 'text-delta', delta }
      await pause(40)
    }
    if (call) {
      yield { type: 'tool-call-start', callId: `${step}-call`, name: call }
      yield { type: 'tool-call-delta', callId: `${step}-call`, delta: '{"request":"look"}' }
      yield { type: 'tool-call-end', callId: `${step}-call` }
    }
    yield { type: 'finish', reason: call ? 'tool-calls' : 'stop', usage }
  },
})

const tool = (name: string, effect: 'idempotent' | 'once', needsApproval = false) =>
  defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect,
    ...(needsApproval && { needsApproval: () => true }),
    async invoke(_, ctx) {
      note(`tool ${name}`)
      ctx.state.set(name, true)
      await pause(300)
      return `${name} is done`
    },
  })

const helper = chatModelAgent({
  name: 'helper',
  description: 'Helps',
  model: model(/look/),
  tools: [tool('look', 'idempotent')],
})
const agent = chatModelAgent({
  name: 'desk',
  model: model(/look|send|pay|helper/),
  tools: [
    tool('look', 'idempotent'),
    tool('send', 'once'),
    tool('pay', 'idempotent', true),
    agentTool(helper, { forward: true }),
  ],
  handlers: [
    {
      name: 'slow-end',
      async afterAgent() {
        note('end')
        await pause(endMs)
      },
    },
  ],
})

const store = sqliteStore({ path })
const records: typeof store.records = {
  ...store.records,
  apply(ref, commands) {
    const ends = commands.some((command) => command.type === 'run-finish' && command.runId === unrecorded)
    if (ends) process.kill(process.pid, 'SIGKILL')
    return store.records.apply(ref, commands)
  },
}
const messages = messageLifecycle({ store: { records } })
const handler = agUiHandler({
  runner: runner({
    agent,
    store,
    callbacks: [messages, toolLifecycle({ messages })],
    limits: { leaseMs: 1_000, pollMs: 100 },
  }),
  store,
  owner: { app: 'test', user: 'ann' },
  limits: { lookMs: 200 },
})
const server = await agUiServer(handler)
// Asked to stop, it says when its runs have ended and everything that they had to record is written or refused.
process.on('message', async () => {
  await server.stop(2_000)
  await messages.flush()
  process.send?.('stopped')
})
process.send?.(server.url)

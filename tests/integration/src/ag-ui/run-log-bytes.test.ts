import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { agUiHandler } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { parallel, runner } from '@troupe/flow'
import { type Agent, defineTool, type ModelPart } from '@troupe/kernel'
import { sqliteStore } from '@troupe/store-sqlite'
import { type ScriptedTurn, scriptedModel } from '@troupe/testkit'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'troupe-log-bytes-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

/** How many bytes a run leaves in its log, and in the messages of its thread. */
async function bytesOf(agent: Agent): Promise<{ readonly log: number; readonly messages: number }> {
  const path = join(folder, `${++files}.db`)
  const store = sqliteStore({ path })
  const handler = agUiHandler({ runner: runner({ agent, store }), store, owner: { app: 'app', user: 'ann' } })
  const messages = [{ id: 'u1', role: 'user', content: 'Tell me all you know about this.' }]
  const body = { threadId: 't', runId: 'R', messages, tools: [], context: [], protocolVersion: '1.0' }
  const headers = { 'content-type': 'application/json' }
  const request = new Request('http://localhost/', { method: 'POST', headers, body: JSON.stringify(body) })
  expect((await (await handler(request)).text()).includes('"outcome":{"type":"success"}')).toBe(true)
  await handler.stop()
  await store[Symbol.asyncDispose]()
  const database = new DatabaseSync(path)
  const sum = (table: string, column: string) =>
    Number(database.prepare(`select sum(length(cast(${column} as blob))) as sum from ${table}`).get()?.sum)
  const bytes = { log: sum('troupe_run_events', 'events'), messages: sum('troupe_messages', 'message') }
  database.close()
  return bytes
}

/** Pieces of 1 to 8 characters, as models cut words. */
function pieces(count: number): string[] {
  return Array.from({ length: count }, (_, i) => ' abcdefgh'.slice(0, 1 + ((i * 7) % 8)))
}

const says = (count: number): ModelPart[] => pieces(count).map((delta) => ({ type: 'text-delta', delta }))
const thinks = (count: number): ModelPart[] => pieces(count).map((delta) => ({ type: 'reasoning-delta', delta }))
const notes = (callId: string): ModelPart[] => [
  { type: 'tool-call-start', callId, name: 'take_note' },
  ...['{"text":"', 'A note', ' of a', ' short', ' sentence', '."}'].map(
    (delta): ModelPart => ({ type: 'tool-call-delta', callId, delta }),
  ),
  { type: 'tool-call-end', callId },
]

const takeNote = defineTool({
  name: 'take_note',
  description: 'Keeps a note.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  invoke({ text }, ctx) {
    for (let i = 0; i <= 10; i++) ctx.state.set('progress', i * 10)
    return `Kept: ${text}`
  },
})
const readArchive = defineTool({
  name: 'read_archive',
  description: 'Reads everything.',
  parameters: { type: 'object' },
  invoke: () => 'x'.repeat(1_000_000),
})

function agentOf(name: string, turns: readonly (readonly ModelPart[])[]): Agent {
  const usage = { inputTokens: 100, outputTokens: 500 }
  const finished = turns.map((parts): ScriptedTurn => {
    const reason = parts.some(({ type }) => type === 'tool-call-start') ? 'tool-calls' : 'stop'
    return { parts: [...parts, { type: 'finish', reason, usage }] }
  })
  return chatModelAgent({ name, model: scriptedModel(finished), tools: [takeNote, readArchive] })
}

const archive: ModelPart[] = [
  { type: 'tool-call-start', callId: 'c1', name: 'read_archive' },
  { type: 'tool-call-delta', callId: 'c1', delta: '{}' },
  { type: 'tool-call-end', callId: 'c1' },
]
const whole = (callId: string): ModelPart[] => [
  { type: 'tool-call-start', callId, name: 'take_note' },
  { type: 'tool-call-delta', callId, delta: '{"text":"A note."}' },
  { type: 'tool-call-end', callId },
]

test.each<[string, Agent]>([
  ['500 text deltas', agentOf('assistant', [says(500)])],
  [
    'reasoning, tool calls and changes of the state',
    agentOf('assistant', [
      [...thinks(200), ...says(20), ...notes('call_1'), ...notes('call_2')],
      [...thinks(100), ...notes('call_3'), ...notes('call_4')],
      says(200),
    ]),
  ],
  ['tool calls that come in one piece', agentOf('assistant', [...'abcdefgh'].map(whole).concat([says(10)]))],
  ['a tool result of 1 MB', agentOf('assistant', [archive, says(3)])],
  ['a tool result of 1 MB and 500 text deltas', agentOf('assistant', [archive, says(500)])],
  [
    'two agents that speak at the same time',
    parallel({ name: 'team', agents: [agentOf('one', [says(300)]), agentOf('two', [says(300)])] }),
  ],
])('the log of a run with %s has at most 1.5 times the bytes of its messages', async (_, agent) => {
  const { log, messages } = await bytesOf(agent)
  expect(log / messages).toBeLessThan(1.5)
})

test('the log of a run that says one word has less than 1 kB: its beginning with the input, its steps, its state and its end', async () => {
  const { log, messages } = await bytesOf(agentOf('assistant', [[{ type: 'text-delta', delta: 'Yes.' }]]))
  expect(log - messages).toBeLessThan(700)
})

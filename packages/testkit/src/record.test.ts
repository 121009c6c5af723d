import { type Agent, type AgentEvent, say } from '@troupe/kernel'
import { runNested, startRun } from '@troupe/kernel/run'
import { expect, it } from 'vitest'
import { record, transcript } from './record.ts'

const inner: Agent = {
  name: 'inner',
  description: '',
  async *run(_input, ctx) {
    ctx.state.set('seen', true)
    ctx.state.delete('old')
    yield* say(ctx, 'Yes.')
  },
}

const outer: Agent = {
  name: 'outer',
  description: '',
  async *run({ messages }, ctx) {
    const call = { id: 'c1', name: 'ask', arguments: '{"who":"inner"}' }
    const id = ctx.ids.next()
    yield { type: 'message-start', messageId: id }
    yield { type: 'reasoning-delta', messageId: id, delta: 'Hm' }
    yield { type: 'tool-call-start', messageId: id, callId: call.id, name: call.name }
    yield { type: 'tool-call-delta', callId: call.id, delta: call.arguments }
    yield { type: 'tool-call-end', call }
    yield { type: 'message-end', message: { id, role: 'assistant', content: '', toolCalls: [call] } }
    yield { type: 'tool-start', callId: call.id, name: call.name, arguments: call.arguments }
    const scope = { callId: call.id, onAction() {}, onInterrupt() {} }
    const { text } = await runNested(inner, { messages }, ctx.derive({ step: 'tool:0:0', call: scope }))
    yield { type: 'tool-delta', callId: call.id, delta: text }
    yield { type: 'tool-end', callId: call.id, messageId: 't1', name: call.name, status: 'complete', content: text }
    await ctx.emit('done', { ok: true })
    yield { type: 'action', action: { type: 'exit', result: 1 } }
    throw new Error('and yet')
  },
}

it('gives a run as lines that a person can read and a diff can compare', async () => {
  const { lines, events, end } = await record(startRun(outer, { messages: [] }, { runId: 'r', state: { old: 1 } }))
  expect(lines).toEqual([
    'outer run-start',
    'outer agent-start',
    'outer message-start',
    'outer reasoning-delta "Hm"',
    'outer tool-call-start ask',
    'outer tool-call-delta "{\\"who\\":\\"inner\\"}"',
    'outer tool-call-end ask({"who":"inner"})',
    'outer message-end "" ask({"who":"inner"})',
    'outer tool-start ask({"who":"inner"})',
    '  outer/inner run-start',
    '  outer/inner agent-start',
    '  outer/inner state-delta {"seen":true} without old',
    '  outer/inner message-start',
    '  outer/inner text-delta "Yes."',
    '  outer/inner message-end "Yes."',
    '  outer/inner agent-end complete',
    '  outer/inner run-end complete "Yes."',
    'outer tool-delta "Yes."',
    'outer tool-end ask complete "Yes."',
    'outer custom done {"ok":true}',
    'outer action {"type":"exit","result":1}',
    'outer error AGENT_FAILED "and yet"',
    'outer agent-end failed',
    'outer run-end failed ""',
  ])
  expect(events).toHaveLength(lines.length)
  expect(end).toMatchObject({ outcome: 'failed', output: 1 })
})

it('indents each nested run by the run around it, whatever their ids are', () => {
  const start = (runId: string, parentRunId?: string): AgentEvent => ({
    type: 'run-start',
    runId,
    agentName: runId,
    runPath: [],
    ...(parentRunId !== undefined && { parentRunId, parentCallId: 'c1' }),
  })
  const events = [start('a'), start('b', 'a'), start('c', 'b'), start('d', 'a'), start('b', 'a'), start('a/e')]
  expect(transcript(events)).toEqual([
    'a run-start',
    '  b run-start',
    '    c run-start',
    '  d run-start',
    '  b run-start',
    'a/e run-start',
  ])
})

it('gives no end of a run that came to none', async () => {
  const { end, lines } = await record((async function* () {})())
  expect([end, lines]).toEqual([undefined, []])
})

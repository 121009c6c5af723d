import assert from 'node:assert/strict'
import { z } from 'zod'

const pickColour = (picks) => ({
  name: 'pick_colour',
  description: 'Lets the user pick a colour.',
  parameters: z.object({ from: z.array(z.string()) }),
  handler: async (args) => {
    picks.push(args)
    return 'red'
  },
})

const ended = (page) => page.of('RUN_FINISHED').map(({ outcome }) => outcome?.type)

/** Checks of what a page sends and shows. */
export const CONVERSATION_CHECKS = {
  async 'text comes in the pieces that the model makes'(open) {
    const page = open()
    assert.equal(await page.say('hello'), 'Hello to you.')
    const pieces = page.of('TEXT_MESSAGE_CONTENT').map(({ delta }) => delta)
    assert.deepEqual(pieces, ['Hello', ' to', ' you.'])
    assert.deepEqual([page.types[0], page.types.at(-1)], ['RUN_STARTED', 'RUN_FINISHED'])
  },

  async 'a conversation goes on, and what is sent again is not said again'(open) {
    const page = open()
    await page.say('hello')
    await page.say('hello again')
    assert.equal(await page.say('recall'), 'You said: hello, hello again, recall.')
  },

  async 'an answer is regenerated, and a message edited'(open) {
    const page = open()
    await page.say('hello')
    await page.say('recall')
    page.agent.setMessages(page.agent.messages.slice(0, -1))
    assert.equal(await page.say(), 'You said: hello, recall.')
    assert.equal(page.agent.messages.length, 4)
    page.agent.setMessages(page.agent.messages.slice(0, -2))
    assert.equal(await page.say('recall it'), 'You said: hello, recall it.')
  },

  async 'a tool of the server: arguments in pieces, the result, the answer'(open) {
    const page = open()
    assert.equal(await page.say('weather'), 'get_weather: Sunny in Beijing.')
    const args = page.of('TOOL_CALL_ARGS').map(({ delta }) => delta)
    assert.deepEqual(args, ['{"city":', '"Beijing"}'])
    assert.deepEqual(
      page.of('TOOL_CALL_RESULT').map(({ content }) => content),
      ['Sunny in Beijing.'],
    )
    assert.deepEqual(
      page.agent.messages.map(({ role }) => role),
      ['user', 'assistant', 'tool', 'assistant'],
    )
  },

  async 'a tool of the page: the run ends with the call open, the page answers, the next run goes on'(open) {
    const picks = []
    const page = open({ tools: [pickColour(picks)] })
    assert.equal(await page.say('pick'), 'pick_colour: red')
    assert.deepEqual(picks, [{ from: ['red', 'blue'] }])
    // Without an outcome a page looks for open calls itself.
    assert.deepEqual(ended(page), [undefined, 'success'])
    assert.equal(page.of('TOOL_CALL_RESULT').length, 0)
    assert.equal(await page.say('recall'), 'You said: pick, recall.')
  },

  async 'state of the page reaches the agent; changes come as deltas, the whole at the end'(open) {
    const page = open()
    page.agent.setState({ notes: ['milk'], colour: 'red' })
    assert.equal(await page.say('note eggs'), 'write_note: 2 kept.')
    assert.deepEqual(page.of('STATE_DELTA')[0]?.delta, [{ op: 'add', path: '/notes/1', value: 'eggs' }])
    const [first, last] = [page.of('STATE_SNAPSHOT').at(0), page.of('STATE_SNAPSHOT').at(-1)]
    assert.deepEqual(first?.snapshot, { notes: ['milk'], colour: 'red' })
    assert.deepEqual(last?.snapshot, { notes: ['milk', 'eggs'], colour: 'red' })
    assert.deepEqual(page.agent.state, last?.snapshot)
  },

  async 'what the page knows is in the instruction'(open) {
    const page = open()
    page.core.addContext({ description: 'The open document', value: 'report.md' })
    const instruction = await page.say('instruction')
    assert.match(instruction, /^Be brief\./)
    assert.match(instruction, /The open document: .*report\.md/)
  },

  async 'an approval is asked for and given'(open) {
    const page = open()
    await page.say('pay')
    assert.deepEqual(ended(page), ['interrupt'])
    const [{ id, message, toolCallId }] = page.agent.pendingInterrupts
    assert.deepEqual([message, typeof toolCallId], ['Allow pay?', 'string'])
    const resume = [{ interruptId: id, status: 'resolved', payload: { approved: true } }]
    assert.equal(await page.say(undefined, { resume }), 'pay: Paid 7.')
    assert.deepEqual(page.agent.pendingInterrupts, [])
  },

  async 'an approval is refused'(open) {
    const page = open()
    await page.say('pay')
    const resume = page.agent.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'cancelled' }))
    assert.match(await page.say(undefined, { resume }), /^pay: .*refused/)
    assert.equal(await page.say('hello'), 'Hello to you.')
  },

  async 'thinking is shown beside the answer'(open) {
    const page = open()
    assert.equal(await page.say('think'), 'It is 42.')
    const thoughts = page.agent.messages.flatMap(({ role, content }) => (role === 'reasoning' ? [content] : []))
    assert.deepEqual(thoughts, ['Six times seven.'])
  },

  async 'an agent inside a tool call, with its own call'(open) {
    const page = open()
    assert.equal(await page.say('ask'), 'ask_expert: get_weather: Sunny in Beijing.')
    const of = ['SUBAGENT_STARTED', 'SUBAGENT_FINISHED'].map((type) => page.of(type).length)
    assert.deepEqual([of, page.of('TOOL_CALL_RESULT').length], [[1, 1], 2])
    assert.equal(await page.say('recall'), 'You said: ask, recall.')
  },

  async 'an agent transfers to another'(open) {
    const page = open()
    assert.equal(await page.say('transfer'), 'Hello to you.')
    assert.deepEqual(
      page.of('STEP_STARTED').map(({ stepName }) => stepName),
      ['Desk', 'Clerk'],
    )
  },

  async 'a picture'(open) {
    const image = { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } }
    assert.equal(await open().say([{ type: 'text', text: 'look' }, image]), 'I see text, file image/png.')
  },

  async 'a picture in the format of older pages'(open) {
    const image = { type: 'binary', data: 'aGk=', mimeType: 'image/png' }
    assert.equal(await open().say([{ type: 'text', text: 'look' }, image]), 'I see text, file image/png.')
  },

  async 'a failing model is a RUN_ERROR that reveals nothing about the server, and the thread goes on'(open) {
    const page = open()
    await page.say('break')
    const [{ code, message }] = page.of('RUN_ERROR')
    assert.deepEqual([code, message, page.types.at(-1)], ['MODEL_FAILED', 'The model could not answer.', 'RUN_ERROR'])
    assert.deepEqual(
      page.errors.map((error) => error.message),
      ['The model could not answer.'],
    )
    assert.equal(await page.say('hello'), 'Hello to you.')
  },

  async 'a page without a user gets 401, and an unknown path 404'(open) {
    const stranger = open({ user: '' })
    await stranger.say('hello')
    assert.match(stranger.of('RUN_ERROR')[0]?.message, /401.*UNAUTHENTICATED/s)
    const lost = open({ agentId: 'nowhere' })
    await lost.say('hello')
    assert.match(lost.of('RUN_ERROR')[0]?.message, /404.*NOT_FOUND/s)
  },

  async 'the user of the page is the user of the thread'(open) {
    const threadId = crypto.randomUUID()
    await open({ threadId, user: 'ann' }).say('hello from ann')
    assert.equal(await open({ threadId, user: 'eve' }).say('recall'), 'You said: recall.')
    assert.equal(await open({ threadId, user: 'ann' }).say('recall'), 'You said: hello from ann, recall.')
  },
}

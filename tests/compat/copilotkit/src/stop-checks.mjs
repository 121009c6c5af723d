import assert from 'node:assert/strict'

const ROUNDS = 20

/** Sends a message whose run does not end, and stops the run at the first event of this type. */
async function stopped(page, text, type) {
  const run = page.say(text)
  await page.until(() => page.of(type).length > 0)
  page.stop()
  await run
  // The client inside the runtime reports a connection that it closed itself with this code.
  assert.equal(page.of('RUN_ERROR')[0]?.code, 'abort')
}

/** Checks of a page that stops a run, is closed or is opened again. */
export const STOP_CHECKS = {
  async 'text is shown while the run goes on; stop ends it, and the next message is answered'(open) {
    const page = open()
    await stopped(page, 'wait', 'TEXT_MESSAGE_CONTENT')
    assert.equal(page.text, 'One moment.')
    assert.equal(await page.say('recall'), 'You said: wait, recall.')
  },

  async 'a tool of the server is stopped, and the next message is answered'(open) {
    const page = open()
    await stopped(page, 'hold', 'TOOL_CALL_END')
    assert.equal(await page.say('recall'), 'You said: hold, recall.')
  },

  async [`stop, then a message at once, ${ROUNDS} times in one thread`](open) {
    const page = open()
    for (let round = 0; round < ROUNDS; round++) {
      await stopped(page, 'wait', 'TEXT_MESSAGE_CONTENT')
      assert.equal(await page.say('hello'), 'Hello to you.', `round ${round}: ${page.errors}`)
    }
  },

  async 'where a disconnect detaches, the next message stops the run and is answered'(open) {
    const page = open({ agentId: 'detached' })
    await stopped(page, 'wait', 'TEXT_MESSAGE_CONTENT')
    assert.equal(await page.say('recall'), 'You said: wait, recall.')
  },

  async 'a page that is opened again has the messages, the state and the question'(open) {
    const page = open()
    for (const text of ['hello', 'weather', 'note eggs', 'think', 'ask', 'pay']) await page.say(text)
    const again = open({ threadId: page.agent.threadId })
    await again.connect()
    const shown = ({ agent }) =>
      agent.messages.map(({ id, role, content, toolCalls }) => [id, role, content, toolCalls])
    assert.deepEqual(shown(again), shown(page))
    assert.deepEqual(again.agent.state, { notes: ['eggs'] })
    assert.deepEqual(
      again.agent.pendingInterrupts.map(({ id }) => id),
      page.agent.pendingInterrupts.map(({ id }) => id),
    )
    const resume = again.agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: 'resolved',
      payload: { approved: true },
    }))
    assert.equal(await again.say(undefined, { resume }), 'pay: Paid 7.')
  },

  async 'a page that is opened during a run joins it, and can stop it'(open) {
    const page = open()
    await page.say('hello')
    const run = page.say('wait')
    await page.until(() => page.text === 'One moment.')
    const again = open({ threadId: page.agent.threadId })
    const joined = again.connect()
    await again.until(() => again.text === 'One moment.')
    again.stop()
    await Promise.all([run, joined])
    assert.equal(await again.say('recall'), 'You said: hello, wait, recall.')
  },
}

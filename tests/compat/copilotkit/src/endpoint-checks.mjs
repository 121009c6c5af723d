import assert from 'node:assert/strict'

const HEADERS = { 'content-type': 'application/json', accept: 'text/event-stream', authorization: 'Bearer ann' }
const PICK = { name: 'pick_colour', description: 'Picks.', parameters: { type: 'object', properties: {} } }

/** Returns a function that sends one request, to its own route or in the envelope of the single route. */
export function caller({ rest, single }, transport) {
  return (method, { threadId, body } = {}) => {
    if (transport === 'single') {
      const envelope = { method, params: { agentId: 'troupe', threadId }, body }
      return fetch(single, { method: 'POST', headers: HEADERS, body: JSON.stringify(envelope) })
    }
    if (method === 'info') return fetch(`${rest}/info`, { headers: HEADERS })
    const path = { 'agent/run': 'run', 'agent/connect': 'connect', 'agent/stop': `stop/${threadId}` }[method]
    return fetch(`${rest}/agent/troupe/${path}`, { method: 'POST', headers: HEADERS, body: JSON.stringify(body) })
  }
}

function input(threadId, messages) {
  const runId = crypto.randomUUID()
  return { threadId, runId, messages, tools: [PICK], context: [], state: {}, forwardedProps: {} }
}

async function eventsOf(response) {
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type'), /^text\/event-stream/)
  const frames = (await response.text()).split('\n\n')
  return frames.flatMap((frame) => (frame.startsWith('data: ') ? [JSON.parse(frame.slice(6))] : []))
}

/** Checks of the endpoints, without a front end. */
export const ENDPOINT_CHECKS = {
  async 'info names the agents and says that telemetry is off'(call) {
    const { agents, mode, version, telemetryDisabled } = await (await call('info')).json()
    assert.equal(agents.troupe.description, 'An agent of Troupe.')
    assert.deepEqual([mode, telemetryDisabled, version.split('.').length], ['sse', true, 3])
  },

  async 'a call that waits for the client, and its result in the next request'(call) {
    const threadId = crypto.randomUUID()
    const asked = { id: crypto.randomUUID(), role: 'user', content: 'pick' }
    const first = await eventsOf(await call('agent/run', { body: input(threadId, [asked]) }))
    const started = first.find(({ type }) => type === 'TOOL_CALL_START')
    const end = first.at(-1)
    assert.deepEqual([end.type, end.outcome], ['RUN_FINISHED', undefined])
    const { toolCallId, parentMessageId } = started
    const toolCall = { id: toolCallId, type: 'function', function: { name: 'pick_colour', arguments: '{}' } }
    const messages = [
      asked,
      { id: parentMessageId, role: 'assistant', toolCalls: [toolCall] },
      { id: crypto.randomUUID(), role: 'tool', toolCallId, content: 'blue' },
    ]
    const second = await eventsOf(await call('agent/run', { body: input(threadId, messages) }))
    const text = second.flatMap(({ type, delta }) => (type === 'TEXT_MESSAGE_CONTENT' ? [delta] : [])).join('')
    assert.deepEqual([text, second.at(-1).type], ['pick_colour: blue', 'RUN_FINISHED'])
  },

  async 'connect gives an unknown thread nothing, and stop says that nothing runs'(call) {
    const threadId = crypto.randomUUID()
    assert.deepEqual(await eventsOf(await call('agent/connect', { body: input(threadId, []) })), [])
    const { stopped } = await (await call('agent/stop', { threadId })).json()
    assert.equal(stopped, false)
  },
}

import {
  type AgentHandler,
  type AssistantMessage,
  type Message,
  type ToolCall,
  withAfterModelRewriteHistory,
  withBeforeModelRewriteHistory,
} from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { brief, calling, expectSound, hello, runAgent, tool, user } from '../chat-model.fixture.ts'

const call = (name: string, id = name): ToolCall => ({ id, name, arguments: '{}' })

/** Changes the last message, in the first turn only. */
function changeFirst(change: (message: AssistantMessage) => Message): AgentHandler {
  let turns = 0
  return withAfterModelRewriteHistory((_, messages) => {
    const last = messages.at(-1)
    if (turns++ > 0 || last?.role !== 'assistant') return
    return [...messages.slice(0, -1), change(last)]
  })
}

describe('3.4 the history rewritten: edits', () => {
  test('before the model persist for the following iterations', async () => {
    let turns = 0
    const { requests } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t')],
      handlers: [
        withBeforeModelRewriteHistory((_, messages) =>
          turns++ === 0 ? [user('Context', 'u0'), ...messages] : undefined,
        ),
      ],
    })
    expect(requests.map(({ messages }) => brief(messages))).toEqual([
      ['user Context', 'user Hello'],
      ['user Context', 'user Hello', 'assistant t', 'tool t done'],
    ])
  })

  test('after the model persist for the following iterations', async () => {
    const { requests } = await runAgent([{ text: 'Secret.', ...(calling('t') as object) }, 'Done.'], {
      tools: [tool('t')],
      handlers: [changeFirst((message) => ({ ...message, content: 'Redacted.' }))],
    })
    expect(brief(requests[1]?.messages)).toEqual(['user Hello', 'assistant t Redacted.', 'tool t done'])
  })

  test('that remove messages do not bring them back', async () => {
    const input = { messages: [user('Old', 'u0'), user('New', 'u1')] }
    const { requests } = await runAgent(
      [calling('t'), 'Done.'],
      {
        tools: [tool('t')],
        handlers: [withBeforeModelRewriteHistory((_, messages) => messages.filter(({ id }) => id !== 'u0'))],
      },
      input,
    )
    expect(requests.map(({ messages }) => messages.length)).toEqual([1, 3])
  })

  test('a hook that returns nothing leaves the history as it is', async () => {
    const nothing = () => undefined
    const { requests } = await runAgent(['Done.'], {
      handlers: [withBeforeModelRewriteHistory(nothing), withAfterModelRewriteHistory(nothing)],
    })
    expect(brief(requests[0]?.messages)).toEqual(['user Hello'])
  })

  test('before the model that leave a call without its result are repaired before the model sees them', async () => {
    const { requests, end } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t')],
      handlers: [withBeforeModelRewriteHistory((_, messages) => messages.filter(({ role }) => role !== 'tool'))],
    })
    expect(end?.outcome).toBe('complete')
    const sent = requests[1]?.messages ?? []
    const asked = sent.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    const answered = sent.flatMap((message) => (message.role === 'tool' ? [message.callId] : []))
    expect(answered).toEqual(asked.map(({ id }) => id))
  })
})

describe('message-end', () => {
  test('comes after the after-hooks', async () => {
    const log: string[] = []
    const callback = { name: 'c', run: { onPart: (_: unknown, { type }: { type: string }) => void log.push(type) } }
    const handlers = [withAfterModelRewriteHistory(() => void log.push('hook'))]
    await runAgent(['Done.'], { handlers }, hello, { callbacks: [callback] })
    expect(log.slice(log.indexOf('message-start'))).toEqual([
      'message-start',
      'text-delta',
      'hook',
      'message-end',
      'agent-end',
      'run-end',
    ])
  })

  test('carries the message as the history has it, under the id of its message-start', async () => {
    const { events, end } = await runAgent(['Draft.'], {
      handlers: [changeFirst((message) => ({ ...message, content: 'Final.' }))],
    })
    const start = events.find((event) => event.type === 'message-start')
    expect(events.find((event) => event.type === 'message-end')).toMatchObject({
      message: { id: start?.messageId, role: 'assistant', content: 'Final.' },
    })
    expect(end?.text).toBe('Final.')
  })

  test('names the agent whose message it is', async () => {
    const { events } = await runAgent(['Hi.'])
    expect(events.find((event) => event.type === 'message-end')).toMatchObject({ message: { agentName: 'a' } })
  })
})

describe('an after-hook', () => {
  test('that adds a call: the call is announced first, then run', async () => {
    const invoked: string[] = []
    const { story, requests } = await runAgent(['Thinking.', 'Done.'], {
      tools: [tool('t', () => `${invoked.push('t')} run`)],
      handlers: [changeFirst((message) => ({ ...message, toolCalls: [call('t', 'added')] }))],
    })
    expect(story.slice(2, -2).filter((line) => !line.startsWith('tool-call-delta'))).toEqual([
      'message-start',
      'text-delta "Thinking."',
      'tool-call-start t',
      'tool-call-end t({})',
      'message-end "Thinking." t({})',
      'tool-start t({})',
      'tool-end t complete "1 run"',
      'message-start',
      'text-delta "Done."',
      'message-end "Done."',
    ])
    expect(brief(requests[1]?.messages)).toEqual(['user Hello', 'assistant t Thinking.', 'tool 1 run'])
  })

  test('that removes a streamed call: it is closed as dropped, not run and in no history', async () => {
    const invoked: string[] = []
    const tools = ['keep', 'drop'].map((name) => tool(name, () => `${invoked.push(name)}`))
    const { events, toolEnds, requests, started } = await runAgent([calling('drop', 'keep'), 'Done.'], {
      tools,
      handlers: [
        changeFirst((message) => ({
          ...message,
          toolCalls: (message.toolCalls ?? []).filter(({ name }) => name !== 'drop'),
        })),
      ],
    })
    expect(toolEnds.map(({ callId, status }) => `${callId} ${status}`).toSorted()).toEqual([
      'drop dropped',
      'keep complete',
    ])
    expect([invoked, started]).toEqual([['keep'], ['keep']])
    expect(brief(requests[1]?.messages)).toEqual(['user Hello', 'assistant keep', 'tool 1'])
    expect(events.filter(({ type }) => type === 'tool-call-end')).toHaveLength(2)
  })

  test('that removes every call: the run is done', async () => {
    const { end, requests, toolEnds } = await runAgent([{ text: 'Or not.', ...(calling('t') as object) }], {
      tools: [tool('t')],
      handlers: [changeFirst(({ toolCalls: _, ...message }) => message)],
    })
    expect([end?.outcome, end?.text, requests.length]).toEqual(['complete', 'Or not.', 1])
    expect(toolEnds).toMatchObject([{ callId: 't', status: 'dropped' }])
  })

  test('that changes the arguments of a call: the tool gets the new ones', async () => {
    const seen: unknown[] = []
    const { events } = await runAgent([calling('t'), 'Done.'], {
      tools: [tool('t', (args) => void seen.push(args))],
      handlers: [changeFirst((message) => ({ ...message, toolCalls: [{ ...call('t'), arguments: '{"a":1}' }] }))],
    })
    expect(seen).toEqual([{ a: 1 }])
    expect(events.find(({ type }) => type === 'tool-start')).toMatchObject({ arguments: '{"a":1}' })
  })

  test('that replaces the last message: the new one decides', async () => {
    const own: AssistantMessage = { id: 'own', role: 'assistant', content: 'Mine.' }
    const finished = await runAgent([calling('t')], {
      tools: [tool('t')],
      handlers: [withAfterModelRewriteHistory((_, messages) => [...messages.slice(0, -1), own])],
    })
    const { end, toolEnds, requests } = finished
    expect([end?.outcome, end?.text, requests.length]).toEqual(['complete', 'Mine.', 1])
    expect(toolEnds).toMatchObject([{ callId: 't', status: 'dropped' }])
    expectSound(finished)
  })

  test('that adds a call of an id the thread has already: no call id is answered twice', async () => {
    const finished = await runAgent([calling('t'), 'Again.', 'Done.'], {
      tools: [tool('t')],
      handlers: [
        withAfterModelRewriteHistory((_, messages) => {
          const last = messages.at(-1)
          if (last?.role !== 'assistant' || last.content !== 'Again.') return
          return [...messages.slice(0, -1), { ...last, toolCalls: [call('t')] }]
        }),
      ],
    })
    expectSound(finished)
  })

  const endings: Record<string, (messages: readonly Message[]) => readonly Message[]> = {
    'removes the answer': (messages) => messages.slice(0, -1),
    'empties the history': () => [],
    'puts a user message last': (messages) => [...messages, user('And?', 'u9')],
    'puts a second assistant message last': (messages) => [
      ...messages,
      { id: 'm9', role: 'assistant', content: 'And more.' },
    ],
  }
  test.each(Object.entries(endings))('that %s: one terminal, every message closed once', async (_, change) => {
    const finished = await runAgent(['Hi.', 'Never asked.'], {
      handlers: [withAfterModelRewriteHistory((_ctx, messages) => change(messages))],
      maxIterations: 2,
    })
    expectSound(finished)
    expect(finished.end?.outcome).toMatch(/complete|failed/)
  })
})

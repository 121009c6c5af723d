import { EventType } from '@ag-ui/core'
import type { AgUiEvent } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { agentTool, parallel } from '@troupe/flow'
import { type Agent, type ChatModel, defineTool, type ModelPart, type Tool } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { ANN, world } from './killable.fixture.ts'
import { checkLog, clientOf, followed, logOf, serve, storedMessages } from './served.fixture.ts'

type Turn = string | { readonly call: string; readonly text?: string }

/** A model that follows a script by the turns that it sees, word by word; what it says begins with its voice. */
function model(script: readonly Turn[], voice: string, did: string[]): ChatModel {
  return {
    name: 'scripted',
    async *stream({ messages, step }): AsyncGenerator<ModelPart> {
      const turn = messages.filter(({ role }) => role === 'assistant').length
      did.push(step)
      const next = script[turn] ?? 'lost'
      const { call, text = '' } = typeof next === 'string' ? { call: undefined, text: next } : next
      for (const delta of `${voice}: ${text}`.split(/(?<= )/)) {
        yield { type: 'text-delta', delta }
        await new Promise((resolve) => setImmediate(resolve))
      }
      if (call !== undefined) {
        const callId = `${step}-${call}`
        yield { type: 'tool-call-start', callId, name: call }
        yield { type: 'tool-call-delta', callId, delta: '{"request":' }
        yield { type: 'tool-call-delta', callId, delta: '"Go"}' }
        yield { type: 'tool-call-end', callId }
      }
      yield { type: 'finish', reason: call ? 'tool-calls' : 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
    },
  }
}

function tool(name: string, did: string[]): Tool {
  return defineTool({
    name,
    description: name,
    parameters: { type: 'object' },
    effect: 'idempotent',
    async *stream(_, ctx) {
      did.push(name)
      yield 'half '
      ctx.state.set(name, true)
      yield 'whole'
      return `${name} is done`
    },
  })
}

type Make = (voice: string, did: string[]) => Agent

const SHAPES: Record<string, Make> = {
  'one agent': (voice, did) =>
    chatModelAgent({
      name: 'clerk',
      model: model([{ call: 'look', text: 'I look it up. ' }, { call: 'save' }, 'It is all done now.'], voice, did),
      tools: [tool('look', did), tool('save', did)],
    }),
  'an agent inside a tool': (voice, did) =>
    chatModelAgent({
      name: 'boss',
      model: model([{ call: 'helper', text: 'I ask. ' }, 'My helper did it.'], voice, did),
      tools: [
        agentTool(
          chatModelAgent({
            name: 'helper',
            description: 'Helps',
            model: model([{ call: 'look' }, 'I have looked it up.'], voice, did),
            tools: [tool('look', did)],
          }),
          { forward: true },
        ),
      ],
    }),
  'agents side by side': (voice, did) =>
    parallel({
      name: 'both',
      agents: ['left', 'right'].map((name) =>
        chatModelAgent({
          name,
          model: model([{ call: `${name}-look`, text: 'I look. ' }, `That was ${name}.`], voice, did),
          tools: [tool(`${name}-look`, did)],
        }),
      ),
    }),
}

/** Runs in a process that is killed at a write, then continues in another one. */
async function killed(make: Make, write: number, done: boolean) {
  const here = world()
  const did: string[] = []
  const one = here.start(make('one', did), {}, { write, done, log: true })
  const client = clientOf(serve(one, here))
  client.messages = [{ id: 'u1', role: 'user', content: 'Go' }]
  await Promise.race([client.runAgent({ runId: 'R' }), one.killed])
  const before = one.alive ? undefined : await logOf(here.store).catch(() => [])
  here.expire()
  const two = serve(here.start(make('two', did)), here)
  const seen: AgUiEvent[] = []
  const reader = clientOf(two, seen)
  await reader.connectAgent()
  return { here, did, before, seen, reader, two }
}

/** Checks what is left of a run that was killed and continued. */
async function check({ here, before = [], reader, two }: Awaited<ReturnType<typeof killed>>): Promise<void> {
  const log = await followed(two, here)
  try {
    checkLog(log)
    expect(await logOf(here.store)).toEqual(log)
    expect(log.slice(0, before.length)).toEqual(before)
    const [said, inside] = [reader.messages.filter(isOuter), reader.messages.filter((message) => !isOuter(message))]
    expect(byId(said)).toEqual(byId(await storedMessages(here)))
    for (const { role, content } of inside) if (role === 'assistant') expect(content).toMatch(/^(one|two): [^:]*$/)
    const thread = await here.store.threads.get(ANN)
    expect([thread?.unfinished, reader.state]).toEqual([undefined, thread?.state])
    expect(outputsOf(log)).toEqual(outputsOf(log).map(() => 'half whole'))
    expect(two.reported).toEqual([])
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${log.map((event) => JSON.stringify(event)).join('\n')}`, {
      cause: error,
    })
  }
}

function isOuter(message: { readonly subagentRunId?: string | null }): boolean {
  return message.subagentRunId === undefined
}

/** Branches that run side by side are stored one after the other. */
function byId<T extends { readonly id: string }>(messages: readonly T[]): readonly T[] {
  return messages.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** What each tool has shown. */
function outputsOf(log: readonly AgUiEvent[]): readonly string[] {
  const outputs = new Map<string, string>()
  for (const event of log) {
    if (event.type !== EventType.CUSTOM || event.name !== 'tool-delta') continue
    const { toolCallId, delta } = event.value
    outputs.set(toolCallId, (outputs.get(toolCallId) ?? '') + delta)
  }
  return [...outputs.values()]
}

describe.each(Object.entries(SHAPES))('a run of %s', async (_, make) => {
  const { here: whole } = await killed(make, 0, true)
  const moments = whole.writes.flatMap((name, i) => [
    ...(i === 0 ? [] : [[`before write ${i + 1}, ${name}`, i + 1, false] as const]),
    [`after write ${i + 1}, ${name}`, i + 1, true] as const,
  ])

  test.each(moments)('that is killed %s, goes on for whoever joins its thread', async (_, write, done) => {
    await check(await killed(make, write, done))
  })
})

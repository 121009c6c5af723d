import { chatModelAgent } from '@troupe/chat-model'
import { type AgentHandler, type ChatModel, defineTool, type ModelPart, stream } from '@troupe/kernel'
import { type RunSettings, startRun } from '@troupe/kernel/run'
import { expectText } from './check-work.ts'

/** Turns of a run: all but the last call a tool. */
export const TURNS = 11

const usage = { inputTokens: 1, outputTokens: 1 }

/** A model without latency, which calls a tool in every turn but the last. */
const model: ChatModel = {
  name: 'bench:model',
  stream: ({ messages }) =>
    stream<ModelPart>(async (sink) => {
      const done = messages.filter(({ role }) => role === 'tool').length
      for (const part of done < TURNS - 1 ? callOf(done) : ANSWER) {
        const wait = sink.write(part)
        if (wait) await wait
      }
    }),
}

const ANSWER: readonly ModelPart[] = [
  { type: 'text-delta', delta: 'Done.' },
  { type: 'finish', reason: 'stop', usage },
]

function callOf(turn: number): readonly ModelPart[] {
  const callId = `c${turn}`
  return [
    { type: 'tool-call-start', callId, name: 'look' },
    { type: 'tool-call-delta', callId, delta: '{}' },
    { type: 'tool-call-end', callId },
    { type: 'finish', reason: 'tool-calls', usage },
  ]
}

const look = defineTool({ name: 'look', description: 'Looks.', parameters: { type: 'object' }, invoke: () => 'seen' })

/** A run of an agent with handlers. */
export function toolTurns(handlers: readonly AgentHandler[] = [], settings: RunSettings = {}): () => Promise<unknown> {
  const agent = chatModelAgent({ name: 'a', model, tools: [look], handlers })
  return () => expectText(5, startRun(agent, 'Go.', settings))
}

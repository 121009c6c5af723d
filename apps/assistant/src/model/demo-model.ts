import { setTimeout as pause } from 'node:timers/promises'
import { type ChatModel, type JsonObject, type ModelPart, type ModelRequest, stream, textOf } from '@troupe/kernel'
import { nextMove } from './demo-moves.ts'

/** A model that needs no key: what it says and calls follows from the last question and the tools it sees. */
export function demoModel({ wordDelayMs }: { readonly wordDelayMs: number }): ChatModel {
  return {
    name: 'demo',
    stream: (request, { signal }) =>
      stream<ModelPart>(async (sink) => {
        for (const part of partsOf(request)) {
          if (part.type === 'text-delta' && wordDelayMs > 0) {
            await pause(wordDelayMs, undefined, { signal }).catch(() => undefined)
          }
          signal.throwIfAborted()
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

function partsOf(request: ModelRequest): ModelPart[] {
  const { text = '', call } = nextMove(request)
  const said = text.split(/(?<=\s)/).filter((delta) => delta !== '')
  return [
    ...said.map((delta): ModelPart => ({ type: 'text-delta', delta })),
    ...(call ? callParts(call.name, call.args, `call-${request.messages.length}`) : []),
    {
      type: 'finish',
      reason: call ? 'tool-calls' : 'stop',
      usage: { inputTokens: heard(request), outputTokens: tokens(text + (call ? JSON.stringify(call.args) : '')) },
    },
  ]
}

function callParts(name: string, args: JsonObject, callId: string): ModelPart[] {
  return [
    { type: 'tool-call-start', callId, name },
    { type: 'tool-call-delta', callId, delta: JSON.stringify(args) },
    { type: 'tool-call-end', callId },
  ]
}

/** A rough count, as a demo model may have. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4)
}

function heard({ messages }: ModelRequest): number {
  return messages.reduce((sum, { content }) => sum + tokens(textOf(content)), 0)
}

import { setTimeout as pause } from 'node:timers/promises'
import { type ChatModel, type JsonObject, type ModelPart, type ModelRequest, stream, textOf } from '@troupe/kernel'
import { nextStep } from './demo-steps.ts'

/** A model without a key: its answers and calls depend on the last question and its tools alone. */
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
  const { text = '', call } = nextStep(request)
  const words = text.split(/(?<=\s)/).filter((delta) => delta !== '')
  return [
    ...words.map((delta): ModelPart => ({ type: 'text-delta', delta })),
    ...(call ? callParts(call.name, call.args, `call-${request.messages.length}`) : []),
    {
      type: 'finish',
      reason: call ? 'tool-calls' : 'stop',
      usage: {
        inputTokens: inputTokens(request),
        outputTokens: tokens(text + (call ? JSON.stringify(call.args) : '')),
      },
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

/** A rough count, which is enough for a demo. */
function tokens(text: string): number {
  return Math.ceil(text.length / 4)
}

function inputTokens({ messages }: ModelRequest): number {
  return messages.reduce((sum, { content }) => sum + tokens(textOf(content)), 0)
}

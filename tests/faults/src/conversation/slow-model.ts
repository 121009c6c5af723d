import type { ChatModel, ModelPart, ModelRequest } from '@troupe/kernel'
import type { StepNotes } from './step-notes.ts'

/** The arguments of calls that have some. */
const ARGUMENTS: { readonly [tool: string]: object } = {
  clerk: { request: 'Help.' },
  helper: { task: 'Help.' },
  respond: { response: 'Enough.' },
  complete_task: { result: 'Helped.' },
}

const WORDS = ['so', 'this', 'is', 'all', 'that', 'there', 'is']

/**
 * A model that makes these calls, turn by turn, and answers then; `>name` is a transfer. It says one word after the other, and each
 * word has the number of the process that says it.
 */
export function slowModel(notes: StepNotes, name: string, turns: readonly string[]): ChatModel {
  return {
    name,
    async *stream(request, { signal }) {
      const step = stepOf(request)
      notes.begin(step)
      const turn = request.messages.filter(({ role }) => role === 'assistant').length
      const calls = (turns[turn] ?? '').split(' ').filter((call) => call !== '')
      for (const word of WORDS.slice(0, calls.length > 0 ? 3 : WORDS.length)) {
        await notes.pause('word')
        signal.throwIfAborted()
        yield { type: 'text-delta', delta: `${word}.${notes.pid} ` }
      }
      yield* calls.flatMap((call, i) => partsOf(call, `${step}/${i}`))
      await notes.pause('finish')
      yield { type: 'finish', reason: calls.length > 0 ? 'tool-calls' : 'stop', usage: usageOf(request) }
    },
  }
}

/** The name of a model call, `<runId>/<step>`: its key ends with both. */
function stepOf({ idempotencyKey }: ModelRequest): string {
  return idempotencyKey.split('/').slice(-2).map(decodeURIComponent).join('/')
}

function partsOf(call: string, callId: string): readonly ModelPart[] {
  const transfer = call.startsWith('>') && { agent_name: call.slice(1) }
  return [
    { type: 'tool-call-start', callId, name: transfer ? 'transfer_to_agent' : call },
    { type: 'tool-call-delta', callId, delta: JSON.stringify(transfer || (ARGUMENTS[call] ?? {})) },
    { type: 'tool-call-end', callId },
  ]
}

function usageOf({ messages }: ModelRequest): { readonly inputTokens: number; readonly outputTokens: number } {
  return { inputTokens: messages.length, outputTokens: 1 }
}

import { chatModelAgent } from '@troupe/chat-model'
import {
  type Agent,
  defineTool,
  type JsonObject,
  type Message,
  type Store,
  type ThreadRef,
  textOf,
} from '@troupe/kernel'
import { UNKNOWN_RESULT } from '@troupe/kernel/history'
import { scriptedModel } from '@troupe/testkit'

/** A call of a tool that reads the state, and may change it. */
export type Call = { readonly tool: 'put' | 'drop' | 'look'; readonly key: string; readonly value: number }
/** What a user message asks for: the calls of each turn. */
export type Program = readonly (readonly Call[])[]

/** A message of a conversation as it must be, with the state after it. */
export type Line = { readonly text: string; readonly state: JsonObject } & (
  | { readonly role: 'user'; readonly program: Program }
  | { readonly role: 'assistant'; readonly calls: readonly Call[] }
  | { readonly role: 'tool' }
)

/** An agent that does what the last user message asks for, turn by turn, and then says how many results there are; its tools may change values of the state in place. */
export function programAgent({ inPlace = true }: { readonly inPlace?: boolean } = {}): Agent {
  const model = scriptedModel(
    [
      ({ messages }) => {
        const asked = messages.findLastIndex(({ role }) => role === 'user')
        const turn = messages.slice(asked).filter(({ role }) => role === 'assistant').length
        const calls = (JSON.parse(textOf(messages[asked]?.content ?? '')) as Program)[turn]
        if (!calls) return `done ${messages.filter(({ role }) => role === 'tool').length}`
        return { toolCalls: calls.map(({ tool, key, value }) => ({ name: tool, arguments: { key, value } })) }
      },
    ],
    { repeat: true },
  )
  const parameters = {
    type: 'object',
    properties: { key: { type: 'string' }, value: { type: 'number' } },
    required: ['key', 'value'],
  } as const
  const tools = (['put', 'drop', 'look'] as const).map((tool) =>
    defineTool({
      name: tool,
      description: tool,
      parameters,
      effect: 'idempotent',
      invoke({ key, value }, { state }) {
        const list = (state.get(key) as number[] | undefined) ?? []
        const text = `${key} was ${list}`
        if (tool === 'drop') state.delete(key)
        const put = inPlace ? list : [...list]
        if (tool === 'put') put.push(value)
        if (tool === 'put') state.set(key, put)
        return text
      },
    }),
  )
  // One tool after the other, so that the state after each result is known.
  return chatModelAgent({ name: 'desk', description: 'desk', model, tools, maxIterations: 20, toolConcurrency: 1 })
}

/** Goes on with a conversation as the agent must: with a user message, or without one. */
export function heldFurther(lines: readonly Line[], program?: Program): readonly Line[] {
  const all = [...lines]
  const state = () => all.at(-1)?.state ?? {}
  const answer = (text: string, after: JsonObject = state()) => all.push({ role: 'tool', text, state: after })
  for (const _ of openCalls(all)) answer(UNKNOWN_RESULT)
  if (program) all.push({ role: 'user', text: JSON.stringify(program), program, state: state() })
  for (;;) {
    const asked = all.findLastIndex(({ role }) => role === 'user')
    const { program = [] } = all[asked] as { readonly program?: Program }
    const calls = program[all.slice(asked).filter(({ role }) => role === 'assistant').length] ?? []
    const text = calls.map(({ tool }) => tool).join() || `done ${all.filter(({ role }) => role === 'tool').length}`
    all.push({ role: 'assistant', text, calls, state: state() })
    if (calls.length === 0) return all
    for (const call of calls) {
      const list = (state()[call.key] ?? []) as readonly number[]
      answer(`${call.key} was ${list}`, stateAfter(call, list, state()))
    }
  }
}

function stateAfter({ tool, key, value }: Call, list: readonly number[], state: JsonObject): JsonObject {
  if (tool === 'look') return state
  if (tool === 'put') return { ...state, [key]: [...list, value] }
  const { [key]: _, ...rest } = state
  return rest
}

function openCalls(lines: readonly Line[]): readonly Call[] {
  const last = lines.findLastIndex(({ role }) => role !== 'tool')
  const line = lines[last]
  return line?.role === 'assistant' ? line.calls.slice(lines.length - last - 1) : []
}

/** What a thread has: the texts of its messages without ids, and the state after each of them. */
export async function linesOf({ threads }: Store, ref: ThreadRef): Promise<readonly object[]> {
  const lines = []
  for (const { message } of await threads.messages(ref, { limit: 1000 })) {
    const probe = await threads.fork(ref, { at: message.id, to: 'probe' })
    lines.push({ text: textOfMessage(message), state: probe.state })
    await threads.delete(probe.ref)
  }
  return lines
}

/** What a thread must have. */
export function expectedLines(lines: readonly Line[]): readonly object[] {
  return lines.map(({ role, text, state }) => ({ text: `${role} ${text}`, state }))
}

function textOfMessage(message: Message): string {
  const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
  return `${message.role} ${calls.map(({ name }) => name).join() || textOf(message.content)}`
}

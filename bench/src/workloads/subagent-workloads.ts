import { chatModelAgent } from '@troupe/chat-model'
import { type ChatModel, defineTool, type ModelPart, stream } from '@troupe/kernel'
import { createRunContext, startRun } from '@troupe/kernel/run'
import { type AgentDefinition, defineAgent, subagentTool } from '@troupe/subagent'
import { expectText } from '../check-work.ts'
import type { Workload } from '../measure.ts'

const usage = { inputTokens: 1, outputTokens: 1 }

/** A model that completes its task at once. */
export function completingModel(): ChatModel {
  const parts: readonly ModelPart[] = [
    { type: 'tool-call-start', callId: 'c1', name: 'complete_task' },
    { type: 'tool-call-delta', callId: 'c1', delta: '{"result":"Found"}' },
    { type: 'tool-call-end', callId: 'c1' },
    { type: 'finish', reason: 'tool-calls', usage },
  ]
  return {
    name: 'bench',
    stream: () =>
      stream<ModelPart>(async (sink) => {
        for (const part of parts) {
          const wait = sink.write(part)
          if (wait) await wait
        }
      }),
  }
}

/** An agent whose result is a text. */
export const finder: AgentDefinition<{ readonly task: string }, string> = defineAgent({
  name: 'finder',
  description: 'Finds it.',
  input: { inputs: { task: { type: 'string', description: 'Task to perform', required: true } } },
  prompt: 'You find things.',
})

const completeTask = defineTool({
  name: 'complete_task',
  description: 'Ends your work.',
  parameters: { type: 'object', properties: { result: { type: 'string' } }, required: ['result'] },
  invoke: ({ result }) => result,
})

/** Workloads of an agent as a tool, beside the same agent alone. */
export function subagentWorkloads(): readonly Workload[] {
  const model = completingModel()
  const alone = chatModelAgent({ name: 'finder', model, tools: [{ tool: completeTask, returnDirectly: true }] })
  const tool = subagentTool(finder, { factory: chatModelAgent, model })
  const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
  const invoke = async () => String((await tool.invoke({ task: 'Go.' }, createRunContext().derive({ call }))).content)
  const input = { messages: [{ id: 'u1', role: 'user', content: 'Go.' }] } as const
  return [
    {
      name: 'a one-turn agent as a tool, beside the agent alone',
      unit: 'call',
      units: 1,
      handWritten: () => expectText(5, startRun(alone, input)),
      troupe: () => expectText(5, invoke()),
    },
    {
      name: 'making a tool of a definition and calling it once, beside the agent alone',
      unit: 'call',
      units: 1,
      handWritten: () => expectText(5, startRun(alone, input)),
      async troupe() {
        const made = subagentTool(finder, { factory: chatModelAgent, model })
        const { content } = await made.invoke({ task: 'Go.' }, createRunContext().derive({ call }))
        await expectText(5, Promise.resolve(String(content)))
      },
    },
  ]
}

import { chatModelAgent } from '@troupe/chat-model'
import {
  agentTool,
  breakLoopTool,
  loop,
  parallel,
  planExecute,
  sequential,
  setSubAgents,
  supervisor,
} from '@troupe/flow'
import { type Agent, say, type Tool } from '@troupe/kernel'
import { defineAgent, subagentTool } from '@troupe/subagent'
import { slowModel } from './slow-model.ts'
import type { StepNotes } from './step-notes.ts'
import { stepTools } from './step-tools.ts'

/** Makes an agent of one shape for one process. */
type Shape = (notes: StepNotes) => Agent

/** An agent whose model makes these calls, turn by turn, and answers then. */
function agent(notes: StepNotes, name: string, turns: readonly string[], more: readonly Tool[] = []): Agent {
  const tools = [...stepTools(notes), breakLoopTool(), ...more]
  const { handlers = [] } = notes
  return chatModelAgent({ name, description: `${name} helps.`, model: slowModel(notes, name, turns), tools, handlers })
}

/** An agent that records no steps itself, and says the same in every process. */
const stranger = (notes: StepNotes): Agent => ({
  name: 'stranger',
  description: 'Says something.',
  async *run(_, ctx) {
    yield* say(ctx, 'I look it up.')
    const found = await ctx.perform('look', async () => {
      notes.begin(`${ctx.runId}/${ctx.step}/look#1`)
      await notes.pause('perform')
      return 'found'
    })
    yield* say(ctx, `I have ${found} it.`)
  },
})

const helper = (notes: StepNotes): Tool =>
  subagentTool(
    defineAgent({
      name: 'helper',
      description: 'Helps.',
      input: { inputs: { task: { type: 'string', description: 'What to do', required: true } } },
      prompt: 'Help.',
      tools: ['pay', 'look'],
    }),
    {
      factory: (spec) => chatModelAgent({ ...spec, handlers: notes.handlers ?? [], retry: false }),
      model: slowModel(notes, 'helper', ['pay look', 'complete_task']),
      tools: stepTools(notes),
    },
  ) as Tool

/** Every shape of composition. */
export const SHAPES: { readonly [name: string]: Shape } = {
  'one agent': (notes) => agent(notes, 'desk', ['look pay save', 'drip', 'pay']),
  transfers: (notes) =>
    setSubAgents(agent(notes, 'front', ['look', '>back']), [agent(notes, 'back', ['pay', '>front'])]),
  sequence: (notes) =>
    sequential({ name: 'steps', agents: [agent(notes, 'first', ['look save']), agent(notes, 'second', ['pay'])] }),
  parallel: (notes) =>
    parallel({
      name: 'all',
      agents: [agent(notes, 'one', ['look pay', 'save']), agent(notes, 'two', ['drip pay']), agent(notes, 'three', [])],
    }),
  loop: (notes) => loop({ name: 'again', agents: [agent(notes, 'worker', ['pay', 'save', 'look'])], maxIterations: 2 }),
  supervisor: (notes) =>
    supervisor({
      supervisor: agent(notes, 'lead', ['>coder', '>tester']),
      agents: [agent(notes, 'coder', ['pay']), agent(notes, 'tester', ['look'])],
    }),
  plan: (notes) =>
    planExecute({
      name: 'plan',
      planner: agent(notes, 'planner', ['look']),
      executor: agent(notes, 'executor', ['pay', 'save']),
      replanner: agent(notes, 'replanner', ['', 'respond']),
      maxIterations: 3,
    }),
  'agent as a tool': (notes) =>
    agent(notes, 'desk', ['clerk look', 'pay'], [agentTool(agent(notes, 'clerk', ['pay save']), { forward: true })]),
  'sub-agent': (notes) => agent(notes, 'desk', ['helper', 'pay'], [helper(notes)]),
  'agent without steps': (notes) =>
    sequential({
      name: 'steps',
      agents: [agent(notes, 'first', ['pay']), stranger(notes), agent(notes, 'last', ['save'])],
    }),
  question: (notes) => agent(notes, 'desk', ['look', 'wire pay', 'look']),
  delivery: (notes) => agent(notes, 'desk', ['pay', 'order look', 'pay']),
}

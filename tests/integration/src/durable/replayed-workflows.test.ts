import { chatModelAgent, exitTool } from '@troupe/chat-model'
import { loop, parallel, sequential, setSubAgents } from '@troupe/flow'
import { type Agent, defineTool, say } from '@troupe/kernel'
import { type ScriptedTurn, scriptedModel, testReplay } from '@troupe/testkit'

const calling = (...names: readonly string[]): ScriptedTurn => ({ toolCalls: names.map((name) => ({ name })) })

/** Counts in the state, some ticks after it was called. */
const count = (ticks: number) =>
  defineTool({
    name: 'count',
    description: 'Counts.',
    parameters: { type: 'object' },
    async invoke(_, ctx) {
      for (let i = 0; i < ticks; i++) await Promise.resolve()
      const key = `count of ${ctx.agentName}`
      ctx.state.set(key, Number(ctx.state.get(key) ?? 0) + 1)
      return ctx.ids.next()
    },
  })

/** An agent that answers by step, whatever stands before the last part of the step. */
const worker = (name: string, turns: readonly ScriptedTurn[], ticks = 0): Agent => {
  const model = scriptedModel([({ step }) => turns[Number(/\d+$/.exec(step)?.[0])] ?? 'There is no such turn.'], {
    repeat: true,
    name,
  })
  return chatModelAgent({ name, description: name, model: fixedIds(model), tools: [count(ticks), exitTool()] })
}

/** Call ids that do not depend on the calls before. */
function fixedIds(model: ReturnType<typeof scriptedModel>): typeof model {
  return {
    ...model,
    async *stream(request, options) {
      let calls = 0
      for await (const part of model.stream(request, options)) {
        if (!('callId' in part)) yield part
        else yield { ...part, callId: `${request.idempotencyKey}-${part.type === 'tool-call-start' ? ++calls : calls}` }
      }
    },
  }
}

const turns: readonly ScriptedTurn[] = [calling('count', 'count'), calling('count'), 'Done.']
const stranger: Agent = {
  name: 'stranger',
  description: 'Records no steps of its own.',
  async *run(_input, ctx) {
    const seen = await ctx.perform('look', async () => ctx.clock.now())
    ctx.state.set('seen', seen)
    yield* say(ctx, 'I was here.')
  },
}

testReplay('one agent after the other', () =>
  sequential({ name: 'steps', agents: [worker('a', turns), stranger, worker('b', turns)] }),
)

testReplay('agents side by side that take different times', () =>
  parallel({
    name: 'branches',
    agents: [worker('a', turns), stranger, worker('b', turns, 30), worker('c', ['Short.'])],
  }),
)

testReplay('agents in a loop', () =>
  loop({
    name: 'rounds',
    maxIterations: 3,
    agents: [worker('a', [calling('count'), 'Again.']), worker('b', [calling('count'), 'And again.'])],
  }),
)

testReplay('workflows in workflows', () =>
  sequential({
    name: 'steps',
    agents: [
      parallel({
        name: 'branches',
        agents: [worker('a', turns), loop({ name: 'rounds', maxIterations: 2, agents: [worker('b', turns)] })],
      }),
      worker('c', turns),
    ],
  }),
)
testReplay('an agent that transfers to another, which transfers back', () => {
  const transferring = (agentName: string) => ({
    toolCalls: [{ name: 'transfer_to_agent', arguments: { agent_name: agentName } }],
  })
  return setSubAgents(worker('lead', [calling('count'), transferring('b'), 'Done.']), [
    worker('b', [calling('count'), transferring('lead')]),
  ])
})

import { type Agent, type EventDraft, JOURNAL, type Json, type RunContext, say } from '@troupe/kernel'
import { runNested } from '@troupe/kernel/run'

/** Does a step as an agent that records its steps does. */
function step<T extends Json>(ctx: RunContext, name: string, work: () => T): Promise<T> {
  const done = async () => work()
  return ctx.get(JOURNAL)?.perform(`${ctx.runId}/${name}`, done) ?? done()
}

/** An agent that records its steps; what it keeps outside `run` is made anew with it. */
function agentOf(run: (ctx: RunContext) => AsyncIterable<EventDraft>): Agent {
  return { name: 'subject', description: '', recordsSteps: true, run: (_input, ctx) => run(ctx) }
}

/** Agents that can be replayed, each made anew. */
export const soundAgents: Record<string, () => Agent> = {
  'an agent of two steps': () =>
    agentOf(async function* (ctx) {
      const [first, second] = [await step(ctx, 'model:0', () => 'one'), await step(ctx, 'tool:0:0', () => 'two')]
      ctx.state.set('said', first)
      yield* say(ctx, `${first} ${second}`)
    }),
  'an agent that keeps time and chance': () =>
    agentOf(async function* (ctx) {
      const at = await ctx.perform('now', async () => ctx.clock.now())
      const chance = await ctx.perform('chance', async () => Math.random())
      yield* say(ctx, await step(ctx, 'model:0', () => 'fine'))
      yield* say(ctx, `${at} ${chance}`)
    }),
  'an agent whose steps run side by side': () =>
    agentOf(async function* (ctx) {
      const branch = async (name: string) => {
        const first = await step(ctx, `${name}/model:0`, () => name)
        return `${first} ${await step(ctx, `${name}/model:1`, () => 'done')}`
      }
      const texts = await Promise.all(['a', 'b', 'c'].map(branch))
      for (const text of texts) yield* say(ctx, text)
    }),
  'an agent that fails': () =>
    agentOf(async function* (ctx) {
      yield* say(ctx, await step(ctx, 'model:0', () => 'before'))
      throw new Error('no')
    }),
  'an agent that records no steps': () => ({
    name: 'stranger',
    description: '',
    async *run(input, ctx) {
      const call = { callId: 'c1', onAction() {}, onInterrupt() {} }
      const inner = soundAgents['an agent of two steps']?.() as Agent
      const { text } = await runNested(inner, input, ctx.derive({ step: 'tool:0:0', call }))
      ctx.state.set('inner', text)
      yield* say(ctx, `${text}!`)
    },
  }),
}

/** An agent that asks a person, and is resumed. */
export const asking = (resumed: (ctx: RunContext) => string = () => 'thank you'): Agent => ({
  ...agentOf(async function* (ctx) {
    yield* say(ctx, await step(ctx, 'model:0', () => 'May I?'))
    const interrupts = [{ id: 'q1', reason: 'input', agentName: 'subject' }]
    yield { type: 'action', action: { type: 'interrupt', interrupts, state: 1 } }
  }),
  async *resume(_info, ctx) {
    yield* say(ctx, await step(ctx, 'model:1', () => 'So be it.'))
    yield* say(ctx, resumed(ctx))
  },
})

let runs = 0
const cache = new Map<string, string>()

const WHOLE = 'a run replayed whole shows the same, and nothing is done again'
const PREFIX = 'a run replayed up to any step goes on to the same end'
const RECORDED = 'a run can be recorded: each record is JSON, and each step is asked for once'

/** Agents that cannot be replayed: the clause that notices each, and what it says. */
export const replayMutants: Record<
  string,
  { readonly make: () => Agent; readonly caught: string; readonly says: RegExp }
> = {
  'it uses chance between its steps': {
    make: () =>
      agentOf(async function* (ctx) {
        yield* say(ctx, await step(ctx, 'model:0', () => 'one'))
        yield* say(ctx, `${Math.random()}`)
        await step(ctx, 'model:1', () => 'two')
      }),
    caught: WHOLE,
    says: /^Replayed whole, the run shows "subject text-delta "0\.\d+"" after the step model:0, where the recorded run shows/,
  },
  'it counts in its module': {
    make: () =>
      agentOf(async function* (ctx) {
        const text = await step(ctx, 'model:0', () => 'one')
        yield* say(ctx, `${text} of run ${++runs}`)
      }),
    caught: WHOLE,
    says: /shows "subject text-delta "one of run \d+"" after the step model:0/,
  },
  'it reads the time of the run without ctx.perform': {
    make: () =>
      agentOf(async function* (ctx) {
        const text = await step(ctx, 'model:0', () => 'one')
        yield* say(ctx, `${text} at ${ctx.clock.now()}`)
      }),
    caught: WHOLE,
    says: /after the step model:0/,
  },
  'it reads the time of the machine without ctx.perform': {
    make: () =>
      agentOf(async function* (ctx) {
        yield* say(ctx, `${process.hrtime.bigint()}`)
      }),
    caught: WHOLE,
    says: /before its first step/,
  },
  'it names a step by chance': {
    make: () =>
      agentOf(async function* (ctx) {
        yield* say(ctx, await step(ctx, `model:${Math.random()}`, () => 'one'))
      }),
    caught: WHOLE,
    says: /goes another way: it asked for model:0\.\d+, which is not on the tape; not asked for so far: model:0\.\d+/,
  },
  'it goes another way the second time': {
    make: () => {
      const known = cache.get('answer')
      return agentOf(async function* (ctx) {
        const answer = known ?? (await step(ctx, 'model:0', () => 'one'))
        cache.set('answer', answer)
        yield* say(ctx, answer)
      })
    },
    caught: WHOLE,
    says: /Replayed whole, the run no longer asks for the step model:0/,
  },
  'it counts its steps in memory': {
    make: () => {
      let calls = 0
      return agentOf(async function* (ctx) {
        for (let i = 0; i < 3; i++) {
          yield* say(ctx, await step(ctx, `tool:${i}:0`, () => (++calls > 2 ? 'too many' : 'done')))
        }
      })
    },
    caught: PREFIX,
    says: /^Replayed up to the step tool:1:0, the step tool:2:0 gives something else than in the recorded run\. Expected "too many", got "done"\.\nReplayed up to the step tool:1:0 \(2 of 3 steps\)\./,
  },
  'it does another step when it goes on': {
    make: () => {
      let calls = 0
      return agentOf(async function* (ctx) {
        await step(ctx, 'model:0', () => ++calls)
        if (calls === 0) await step(ctx, 'tool:0:0', () => 1)
        await step(ctx, 'model:1', () => 'done')
        yield* say(ctx, 'done')
      })
    },
    caught: PREFIX,
    says: /^Replayed up to the step model:0, the run does the step tool:0:0, which the recorded run has not: 1/,
  },
  'it leaves another state': {
    make: () => {
      let calls = 0
      return agentOf(async function* (ctx) {
        await step(ctx, 'model:0', () => {
          calls++
          return 'one'
        })
        ctx.state.set('calls', calls)
        yield* say(ctx, 'done')
      })
    },
    caught: WHOLE,
    says: /^Replayed whole, the run leaves another state\. At calls, expected 1, got 0/,
  },
  'it never asks again': {
    make: () => {
      let begun = false
      return agentOf(async function* (ctx) {
        await step(ctx, 'model:0', () => {
          begun = true
          return 1
        })
        if (!begun) await new Promise(() => undefined)
        await step(ctx, 'model:1', () => 2)
        yield* say(ctx, 'done')
      })
    },
    caught: PREFIX,
    says: /did not settle within \d+ ms.*\nReplayed up to the step model:0 \(1 of 2 steps\)\./,
  },
  'a record is not JSON': {
    make: () =>
      agentOf(async function* (ctx) {
        await step(ctx, 'model:0', () => new Date(0) as never)
        yield* say(ctx, 'done')
      }),
    caught: RECORDED,
    says: /^The run failed with VALIDATION_FAILED \(tape: the record of model:0 is not plain JSON/,
  },
  'two steps have one name': {
    make: () =>
      agentOf(async function* (ctx) {
        for (const text of ['one', 'two']) yield* say(ctx, await step(ctx, 'model:0', () => text))
      }),
    caught: RECORDED,
    says: /^The step model:0 was asked for more than once/,
  },
}

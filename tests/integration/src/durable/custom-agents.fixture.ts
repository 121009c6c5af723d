import { type Agent, type EventDraft, type RunContext, say } from '@troupe/kernel'
import { observe } from '@troupe/kernel/run'
import type { ScriptedHost } from './scripted-host.fixture.ts'

/** The kinds of agents that record no steps: they talk, perform, exit, ask, or run another agent. */
export const CUSTOM_KINDS = ['talker', 'performer', 'leaver', 'asker', 'delegate'] as const
export type CustomKind = (typeof CUSTOM_KINDS)[number]

/** Makes an agent that records no steps. */
export function customAgent(host: ScriptedHost, name: string, kind: CustomKind, [inner]: readonly Agent[]): Agent {
  return {
    name,
    description: `${name} helps.`,
    async *run(input, ctx): AsyncGenerator<EventDraft> {
      const at = `${ctx.runId}/${ctx.step || 'agent'}`
      // The others run again from their start, with the steps inside them that were done.
      if (kind === 'talker' || kind === 'leaver') host.begin(at)
      await host.pause(1)
      yield* say(ctx, `${name} begins at ${ctx.step}`)
      if (kind === 'talker') ctx.state.set(name, ctx.step)
      await host.pause(2)
      if (kind === 'performer') yield* performed(host, name, ctx)
      if (kind === 'asker') yield* say(ctx, `${name} heard ${await ctx.interrupt({ reason: 'input' })}`)
      if (kind === 'delegate' && inner) {
        yield* observe(inner, input, ctx.derive({ step: 'inner', runPath: [...ctx.runPath, name] }))
      }
      yield* say(ctx, `${name} ends`)
      if (kind === 'leaver') yield { type: 'action', action: { type: 'exit', result: name } }
    },
  }
}

/** Performs two pieces of work, and says what they gave. */
async function* performed(host: ScriptedHost, name: string, ctx: RunContext): AsyncGenerator<EventDraft> {
  for (const word of ['one', 'two']) {
    const given = await ctx.perform(word, async () => {
      host.begin(`${ctx.runId}/${ctx.step === '' ? word : `${ctx.step}/${word}`}#1`)
      await host.pause(1)
      return word
    })
    yield* say(ctx, `${name} performed ${given}`)
  }
}

import type { Agent, Json, RunContext } from '@troupe/kernel'
import { say } from '@troupe/kernel'
import { fakeClock } from '@troupe/testkit'
import { expect } from 'vitest'
import type { RunnerOptions } from '../index.ts'
import { idle, type Setup, session, setup } from './runner.fixture.ts'

type Work = (ctx: RunContext, name: string) => Promise<Json>

/** An agent with three steps, which says what they gave. */
export const steps = (work: Work): Agent => ({
  name: 'Desk',
  description: '',
  recordsSteps: true,
  async *run({ messages }, ctx) {
    const done: Json[] = []
    for (const name of ['a', 'b', 'c']) done.push(await ctx.perform(name, () => work(ctx, name)))
    yield* say(ctx, `${messages.filter(({ role }) => role === 'user').length}: ${done.join(' ')}`)
  },
})

/** A run `R` that has done its first step when its process stops for ever; its clock stands still, so that it neither renews nor releases its lease. */
export async function broken(
  options: Partial<RunnerOptions> = {},
  request: object = {},
  before: (env: Setup) => Promise<void> = async () => {},
): Promise<Setup & { expire(): void }> {
  const env = setup({ agent: steps(async (_, name) => `${name}1`), ...options })
  await before(env)
  const done: string[] = []
  const stuck = steps(async (ctx, name) => {
    done.push(name)
    ctx.state.set(name, true)
    return name === 'b' ? new Promise<never>(() => {}) : `${name}1`
  })
  const dead = env.runner({ agent: stuck, clock: fakeClock() }).query('hi', { ...session, runId: 'R', ...request })
  dead.then(undefined, () => undefined)
  await idle()
  expect(done).toEqual(['a', 'b'])
  return { ...env, expire: () => env.clock.advance(30_001) }
}

/** Steps that note what they do. */
export function noting(): { readonly done: string[]; readonly agent: Agent } {
  const done: string[] = []
  return { done, agent: steps(async (_, name) => `${name}${done.push(name)}`) }
}

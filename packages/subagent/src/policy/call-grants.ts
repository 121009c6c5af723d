import type { Grant, GrantStore, RunContext } from '@troupe/kernel'
import type { AlwaysAnswer } from './bus.ts'

/** The grants that matter to one question. */
export class CallGrants {
  readonly #store: GrantStore
  readonly #about: Pick<Grant, 'agent' | 'tool' | 'rule'>
  readonly #ctx: RunContext

  constructor(store: GrantStore, about: Pick<Grant, 'agent' | 'tool' | 'rule'>, ctx: RunContext) {
    this.#store = store
    this.#about = about
    this.#ctx = ctx
  }

  /** Returns whether the call may run without a question. Contract: never rejects; if the store cannot be read, a person is asked. */
  async allow(): Promise<boolean> {
    const { agent, tool, rule } = this.#about
    const { app, user, threadId } = this.#ctx.session
    try {
      const grants = await this.#store.list({ app, user }, { threadId })
      return grants.some(
        (grant) =>
          grant.agent === agent &&
          grant.tool === tool &&
          grant.rule === rule &&
          // A store of somebody else may give all of them.
          (grant.threadId === undefined || grant.threadId === threadId),
      )
    } catch {
      return false
    }
  }

  /** Saves the permission of an answer, if it gives one. */
  async remember({ approved, always }: AlwaysAnswer): Promise<void> {
    if (!approved || always === undefined) return
    const { session, clock } = this.#ctx
    const { app, user, threadId } = session
    const { agent, tool, rule } = this.#about
    const scope = always === 'thread' ? threadId : undefined
    await this.#store.add(
      { app, user },
      {
        agent,
        tool,
        ...(scope !== undefined && { threadId: scope }),
        ...(rule !== undefined && { rule }),
        at: clock.now(),
      },
    )
  }
}

/** Returns whether a run has an owner whose grants can be kept; one without a session has none. */
export function hasOwner({ session: { app, user } }: RunContext): boolean {
  return app !== 'standalone' || user !== 'standalone'
}

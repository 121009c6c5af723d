import { JOURNAL, type Journal } from '../agent/journal.ts'
import { type ContextKey, contextKey, type RunContext } from '../context/context.ts'
import type { EventDraft } from '../data/event.ts'
import { addUsage, type Usage } from '../data/message.ts'
import { internals, KernelContext } from '../engine/kernel-context.ts'
import { applyChanges, NotedState, type StateChanges } from './noted-state.ts'

/** What a step did to its run beside its result: changes of the state, events that it wrote, tokens of the runs inside it. */
export type StepEffects = StateChanges & { readonly events?: readonly EventDraft[]; readonly usage?: Usage }

/** The step around a nested run, which counts its tokens. */
export const STEP: ContextKey<NotedStep | undefined> = contextKey('troupe.step')

/** Notes what a step does to its run, so that it can be done again without the step. */
export class NotedStep {
  /** The context of the step. */
  readonly ctx: RunContext
  readonly #outer: NotedStep | undefined
  readonly #state: NotedState
  #events: EventDraft[] | undefined
  #usage: Usage | undefined

  /** `inner` is the journal of what happens inside the step; without one it is all recorded with the step. */
  constructor(ctx: RunContext, inner?: Journal) {
    const { core, fields, asker } = internals(ctx)
    const { agent } = fields
    this.#outer = ctx.get(STEP)
    this.#state = new NotedState(fields.state)
    const write = (draft: EventDraft) => {
      this.note(draft)
      return agent?.write(draft)
    }
    // Written out because a spread is slower.
    const own = {
      agentName: fields.agentName,
      runPath: fields.runPath,
      step: fields.step,
      state: this.#state,
      signal: fields.signal,
      values: { key: JOURNAL, value: inner, rest: { key: STEP, value: this, rest: fields.values } },
      progress: fields.progress,
      iteration: fields.iteration,
      agent: agent && { spanId: agent.spanId, write },
    }
    this.ctx = new KernelContext(core, own, asker)
  }

  /** Notes an event. Contract: deltas that follow each other are joined. */
  note(draft: EventDraft): void {
    this.#events ??= []
    const joined = join(this.#events.at(-1), draft)
    if (joined) this.#events[this.#events.length - 1] = joined
    else if (draft.type !== 'state-delta') this.#events.push(draft)
  }

  addUsage(usage: Usage): void {
    this.#usage = this.#usage ? addUsage(this.#usage, usage) : usage
    this.#outer?.addUsage(usage)
  }

  /** Contract: called once, when the step has ended. */
  effects(): StepEffects {
    const events = this.#events
    const usage = this.#usage
    const changes = this.#state.changes()
    return !events && !usage ? changes : { ...changes, ...(events?.length && { events }), ...(usage && { usage }) }
  }
}

/** Does to a run what a step did when it was recorded. */
export async function repeatEffects(journal: Journal, ctx: RunContext, effects: StepEffects): Promise<void> {
  const { core, fields } = internals(ctx)
  const { events = [], usage } = effects
  applyChanges(ctx.state, effects)
  if (usage) {
    core.addUsage(usage)
    ctx.get(STEP)?.addUsage(usage)
  }
  for (const draft of events) await retell(journal, () => fields.agent?.write(draft))
}

/** Writes what a step that was done before has shown. */
export function retell<T>(journal: Journal, write: () => T): T {
  return journal.retell ? journal.retell(write) : write()
}

function join(last: EventDraft | undefined, draft: EventDraft): EventDraft | undefined {
  if (!last || !('delta' in last) || !('delta' in draft) || last.type !== draft.type) return undefined
  if (typeof last.delta !== 'string' || typeof draft.delta !== 'string' || last.runId !== draft.runId) return undefined
  const id = (one: EventDraft) => ('messageId' in one ? one.messageId : 'callId' in one ? one.callId : undefined)
  return id(last) === id(draft) ? ({ ...draft, delta: last.delta + draft.delta } as EventDraft) : undefined
}

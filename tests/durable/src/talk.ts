import { randomUUID } from 'node:crypto'
import type { AgentEvent, Runner, ThreadRef } from '@troupe/kernel'
import type { Plan } from './agents.ts'

/** A run that a test reads. */
export interface Talk {
  readonly ref: ThreadRef
  readonly runId: string
  readonly events: AgentEvent[]
  /** Resolves with the last event. */
  readonly ended: Promise<AgentEvent | undefined>
  /** Waits for an event. */
  seen(matches: (event: AgentEvent) => boolean): Promise<void>
}

/** Orders a run of a plan and reads it. */
export function talk(runner: Runner, plan: Plan, ref: ThreadRef = thread()): Talk {
  const runId = randomUUID()
  const input = {
    messages: [{ role: 'user', content: JSON.stringify(plan) }],
    state: { set: { plan: JSON.stringify(plan) } },
  } as const
  return read(runner.run(input, { session: ref, runId }), ref, runId)
}

/** Reads a run. */
export function read(run: ReturnType<Runner['run']>, ref: ThreadRef, runId: string): Talk {
  const events: AgentEvent[] = []
  const waiting = new Set<() => void>()
  const ended = (async () => {
    for await (const event of run.eventsWithoutThrowing()) {
      events.push(event)
      for (const look of waiting) look()
    }
    // A run that never began throws its reason.
    if (events.length === 0) await run
    return events.at(-1)
  })()
  ended.catch(() => undefined)
  const seen = (matches: (event: AgentEvent) => boolean) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!events.some(matches)) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
      ended.then(() => look(), reject)
    })
  return { ref, runId, events, ended, seen }
}

/** A new thread. */
export function thread(): ThreadRef {
  return { app: 'test', user: 'ann', threadId: randomUUID() }
}

import { join } from 'node:path'
import { registerWorkers, restateRunner, restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import type { Agent, AgentEvent, FullStore, Runner } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { NO_RESTATE, startRestate } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { openStore } from './open-store.ts'

type Agents = { readonly [name: string]: Agent }

/** Where the agents run: a runner for each of them, on one store. */
export interface Place {
  readonly store: FullStore
  runner(name: string): Runner
}

type Open = (stack: AsyncDisposableStack, home: string, agents: Agents) => Promise<Place>

const ALL: { readonly [place: string]: Open } = {
  'in memory': async (_, __, agents) => onStore(memoryStore(), agents),
  'on SQLite': async (stack, home, agents) =>
    onStore(stack.use(await openStore({ path: join(home, 'store.db') })), agents),
  'on PostgreSQL': async (stack, _, agents) => {
    const server = stack.use(await startPostgres())
    return onStore(stack.use(await openStore({ url: server.url, schema: server.schema() })), agents)
  },
  'on Restate': async (stack, home, agents) => {
    const restate = stack.use(await startRestate())
    const store = stack.use(await openStore({ path: join(home, 'store.db') }))
    const hosted = Object.entries(agents).map(
      ([name, agent]) => [name, (host: object) => runner({ agent, ...(host as { store: FullStore }) })] as const,
    )
    const worker = stack.use(restateWorker({ store, agents: Object.fromEntries(hosted) }))
    const port = await worker.serve(0, '127.0.0.1')
    await registerWorkers({ admin: restate.admin, workers: `http://127.0.0.1:${port}` })
    return { store, runner: (name) => restateRunner({ agent: agentIn(agents, name), ingress: restate.ingress, store }) }
  },
}

function onStore(store: FullStore, agents: Agents): Place {
  return { store, runner: (name) => runner({ agent: agentIn(agents, name), store }) }
}

function agentIn(agents: Agents, name: string) {
  const agent = agents[name]
  if (!agent) throw new Error(`no agent ${name}`)
  return agent
}

/** The places that there are on this machine, by name. */
export const PLACES: readonly (readonly [string, Open])[] = Object.entries(ALL).filter(
  ([place]) => !(NO_RESTATE && place === 'on Restate'),
)

/** What a reader sees, without the ids and times that differ from run to run. */
export function told(events: readonly AgentEvent[]): readonly string[] {
  return events
    .filter(({ type }) => type !== 'text-delta' && type !== 'state-delta')
    .map((event) =>
      `${event.agentName} ${event.type} ${'outcome' in event ? event.outcome : 'status' in event ? event.status : ''}`.trim(),
    )
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerWorkers, restateRunner, restateWorker } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import type { AgentEvent, FullStore, Runner } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_RESTATE, startRestate } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { startPostgres } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { agentsOf } from './agents.ts'
import { faultsOf } from './check-run.ts'
import { Effects } from './effects.ts'
import { openStore } from './open-store.ts'
import { read, talk } from './talk.ts'

/** Where the agents run: a runner for each of them, on one store. */
interface Place {
  readonly store: FullStore
  runner(name: string): Runner
}

type Agents = ReturnType<typeof agentsOf>

const PLACES: {
  readonly [place: string]: (stack: AsyncDisposableStack, home: string, agents: Agents) => Promise<Place>
} = {
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

/** What a reader sees, without the ids and times that differ from run to run. */
function told(events: readonly AgentEvent[]): readonly string[] {
  return events
    .filter(({ type }) => type !== 'text-delta' && type !== 'state-delta')
    .map((event) =>
      `${event.agentName} ${event.type} ${'outcome' in event ? event.outcome : 'status' in event ? event.status : ''}`.trim(),
    )
}

/** What the first place has shown. */
const shown: Record<string, unknown> = {}

describe.each(Object.entries(PLACES).filter(([place]) => !(NO_RESTATE && place === 'on Restate')))(
  '%s',
  (name, open) => {
    let place: Place
    let home: string
    const stack = new AsyncDisposableStack()
    beforeAll(async () => {
      home = mkdtempSync(join(tmpdir(), 'troupe-bodies-'))
      stack.defer(() => rmSync(home, { recursive: true, force: true }))
      place = await open(stack, home, agentsOf(new Effects(join(home, 'effects'))))
    })
    afterAll(() => stack.disposeAsync())

    /** Expects to see here what was seen elsewhere. */
    const same = (what: string, value: unknown) => {
      shown[what] ??= value
      expect([name, value]).toEqual([name, shown[what]])
    }

    it.each([
      ['assistant', { turns: 2, calls: ['send', 'look'] }],
      ['desk', { turns: 1, calls: ['helper'] }],
      ['assistant', { turns: 0 }],
    ] as const)('a conversation with %s: %o', async (agent, plan) => {
      const run = talk(place.runner(agent), plan)
      const end = await run.ended
      expect(await faultsOf(place.store, run.ref, run.runId, run.events)).toEqual([])
      same(`${agent} ${JSON.stringify(plan)}`, told(run.events))
      same(`end of ${agent} ${JSON.stringify(plan)}`, end?.type === 'run-end' && [end.outcome, end.usage])
      const thread = await place.store.threads.get(run.ref)
      same(`keys of ${agent} ${JSON.stringify(plan)}`, Object.keys(thread?.state ?? {}).sort())
    })

    it('branches beside each other', async () => {
      const run = talk(place.runner('team'), { turns: 2, calls: ['send'] })
      await run.ended
      expect(await faultsOf(place.store, run.ref, run.runId, run.events)).toEqual([])
      same('team', [...told(run.events)].sort())
    })

    it('a question, its answer, and a message that is refused meanwhile', async () => {
      const chat = place.runner('assistant')
      const asking = talk(chat, { turns: 1, calls: ['pay', 'look'] })
      const asked = await asking.ended
      same('asking', told(asking.events))
      await expect(chat.run('Well?', { session: asking.ref })).rejects.toMatchObject({ code: 'PENDING_TOOL_CALLS' })
      const [question] = asked?.type === 'run-end' ? (asked.interrupts ?? []) : []
      const runId = `${asking.runId}-answered`
      const resumed = chat.resume({ [question?.id ?? '']: { approved: false } }, { session: asking.ref, runId })
      const answered = read(resumed, asking.ref, runId)
      await answered.ended
      same('answered', told(answered.events))
      expect((await place.store.threads.messages(asking.ref)).map(({ message }) => message.role)).toEqual([
        'user',
        'assistant',
        'tool',
        'tool',
        'assistant',
      ])
    })
  },
)

import { randomUUID } from 'node:crypto'
import type { AgUiEvent } from '@troupe/ag-ui'
import { ResumableHttpAgent } from '@troupe/ag-ui/client'
import { strictVerifier } from '@troupe/ag-ui/verify'
import { textOf } from '@troupe/kernel'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NO_RESTATE } from '../../../packages/durable-restate/src/restate.fixture.ts'
import type { Plan } from './agents.ts'
import { repeated } from './check-run.ts'
import { Cluster } from './cluster.ts'
import type { WorkerProcess } from './worker-process.ts'

describe.skipIf(NO_RESTATE)('a client of two servers', () => {
  let cluster: Cluster
  let servers: WorkerProcess[]
  beforeAll(async () => {
    cluster = await Cluster.start({ workers: 2, store: 'postgres' })
    servers = await Promise.all([cluster.addServer(), cluster.addServer()])
  })
  afterAll(() => cluster?.[Symbol.asyncDispose]())

  /** A client that reaches the first server that is there. */
  const client = () => {
    const threadId = randomUUID()
    const seen: AgUiEvent[] = []
    const agent = new ResumableHttpAgent({
      url: 'http://agent.test',
      threadId,
      fetch: (to, init) => fetch(String(to).replace('http://agent.test', `http://127.0.0.1:${servers[0]?.port}`), init),
      reconnect: { attempts: 100, pauseMs: () => 50 },
    })
    agent.subscribe({ onEvent: ({ event }) => void seen.push(event as AgUiEvent) })
    return { agent, threadId, seen }
  }

  const talks = ({ agent, seen }: ReturnType<typeof client>, plan: Plan) => {
    agent.addMessage({ id: randomUUID(), role: 'user', content: JSON.stringify(plan) })
    const ended = agent.runAgent({ runId: randomUUID() })
    const speaks = () =>
      expect.poll(() => seen.map(({ type }) => type as string), { timeout: 20_000 }).toContain('TEXT_MESSAGE_CONTENT')
    return { ended, speaks }
  }

  /** Checks that a client has the whole run once. */
  const check = async ({ threadId, seen, agent }: ReturnType<typeof client>) => {
    const verifier = strictVerifier()
    for (const event of seen) verifier.see(event)
    verifier.end()
    const ref = { app: 'test', user: 'ann', threadId }
    const stored = (await cluster.store.threads.messages(ref)).map(({ message }) => [
      message.role,
      textOf(message.content),
    ])
    expect(agent.messages.map(({ role, content }) => [role, content ?? ''])).toEqual(stored)
    expect(repeated(cluster.effects)).toEqual([])
  }

  const PLAN: Plan = { turns: 4, calls: ['send'], wordMs: 60, callMs: 60 }

  it('gets a run of a worker', async () => {
    const one = client()
    await talks(one, { turns: 1 }).ended
    await check(one)
  })

  it('goes on with the other server when its own dies, while the worker goes on with the run', async () => {
    const all = Array.from({ length: 4 }, client)
    const runs = all.map((one) => talks(one, PLAN))
    await Promise.all(runs.map(({ speaks }) => speaks()))
    const began = performance.now()
    const dead = servers.shift()
    await dead?.kill()
    await Promise.all(runs.map(({ ended }) => ended))
    for (const one of all) await check(one)
    expect([...cluster.effects.begun('model').values()].filter((count) => count > 1)).toEqual([])
    // Live, and not when the run has long ended.
    expect(performance.now() - began).toBeLessThan(10_000)
    servers.push(await cluster.addServer())
  })

  it('goes on with the other server when its own is stopped, which stops no run', async () => {
    const one = client()
    const { ended, speaks } = talks(one, PLAN)
    await speaks()
    const stopped = servers.shift()
    await stopped?.stop()
    await ended
    await check(one)
    servers.push(await cluster.addServer())
  })

  it('goes on when its server and the worker die', async () => {
    const one = client()
    const { ended, speaks } = talks(one, PLAN)
    await speaks()
    const [worker] = cluster.workers
    if (!worker) throw new Error('no worker')
    cluster.removeWorker(worker)
    await Promise.all([servers.shift()?.kill(), worker.kill()])
    await ended
    await check(one)
  })
})

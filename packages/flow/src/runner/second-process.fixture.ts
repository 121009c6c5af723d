import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Agent, type Answers, type Message, type Store, say, type Thread, type ThreadRef } from '@troupe/kernel'
import { memoryStore } from '@troupe/kernel/memory-store'
import { type FlowRunner, parallel, runner, sequential, setSubAgents } from '../index.ts'
import { obedient } from './obedient.fixture.ts'

/** The order that a process carries out on the thread in its file. */
export type Order = { readonly query: string } | { readonly resume: Answers } | { readonly results: readonly Message[] }

const ref: ThreadRef = { app: 'test', user: 'ann', threadId: 't' }

/** Desk transfers to Floor, a sequence whose second step has two branches. */
function desk(store: Store): FlowRunner {
  const first: Agent = { name: 'First', description: '', run: (_, ctx) => say(ctx, 'first') }
  const both = parallel({ name: 'Both', agents: [obedient('Left'), obedient('Right')] })
  const floor = sequential({ name: 'Floor', agents: [first, both] })
  return runner({ agent: setSubAgents(obedient('Desk'), [floor, obedient('Leaf')]), store })
}

type Saved = {
  readonly thread: Thread
  readonly messages: readonly { readonly runId: string; readonly message: Message }[]
}

async function load(file: string): Promise<Store> {
  const store = memoryStore()
  if (!existsSync(file)) return store
  const { thread, messages } = JSON.parse(readFileSync(file, 'utf8')) as Saved
  const { token } = await store.leases.acquire(ref, { runId: 'load', ttlMs: 10_000 })
  await store.threads.open(ref)
  const { state, openCalls, checkpoint = null } = thread
  await store.threads.commit(ref, { set: state, openCalls, checkpoint, messages }, token)
  await store.leases.release(ref, token)
  return store
}

async function save(store: Store, file: string): Promise<void> {
  writeFileSync(
    file,
    JSON.stringify({ thread: await store.threads.get(ref), messages: await store.threads.messages(ref) }),
  )
}

/** Loads the thread, carries out one order, saves the thread and prints the result of the run. */
async function main(file: string, order: Order): Promise<void> {
  const store = await load(file)
  const { query, resume, run } = desk(store)
  const request = { session: ref }
  const running =
    'query' in order
      ? query(order.query, request)
      : 'resume' in order
        ? resume(order.resume, request)
        : run({ messages: order.results }, request)
  const path: string[] = []
  for await (const { type, runPath, agentName } of running) {
    if (type === 'message-end') path.push([...runPath, agentName].join('/'))
  }
  await save(store, file)
  process.stdout.write(JSON.stringify({ ...(await running), path, pid: process.pid }))
}

const [, , file, order] = process.argv
if (process.env.FLOW_PROCESS && file && order) await main(file, JSON.parse(order))

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { registerWorkers, restateRunner } from '@troupe/durable-restate'
import type { AgentEvent, FullStore, Runner } from '@troupe/kernel'
import { startRestateNodes, type TestRestate } from '../../../packages/durable-restate/src/restate.fixture.ts'
import { startPostgres, type TestServer } from '../../../packages/store-postgres/src/postgres.fixture.ts'
import { Address } from './address.ts'
import { agentsOf } from './agents.ts'
import { Effects } from './effects.ts'
import { openStore } from './open-store.ts'
import { WorkerProcess, type WorkerTask } from './worker-process.ts'

/** How a cluster is set up. */
export interface ClusterOptions {
  readonly workers?: number
  readonly store?: 'postgres' | 'sqlite'
  /** How many nodes Restate has. @default 1 */
  readonly nodes?: number
  readonly options?: WorkerTask['options']
}

/** A Restate server, workers behind one address, a store, and runners that order runs of them. */
export class Cluster implements AsyncDisposable {
  readonly nodes: readonly TestRestate[]
  readonly #entry: Address
  readonly address: Address
  readonly store: FullStore
  readonly effects: Effects
  readonly workers: WorkerProcess[] = []
  readonly #task: Omit<WorkerTask, 'port'>
  readonly #stack: AsyncDisposableStack
  readonly #postgres: TestServer | undefined

  private constructor(
    stack: AsyncDisposableStack,
    nodes: readonly TestRestate[],
    entry: Address,
    address: Address,
    store: FullStore,
    task: Omit<WorkerTask, 'port'>,
    postgres: TestServer | undefined,
  ) {
    this.#postgres = postgres
    this.#stack = stack
    this.nodes = nodes
    this.#entry = entry
    this.address = address
    this.store = store
    this.#task = task
    this.effects = new Effects(task.effects)
  }

  static async start({
    workers = 1,
    store: kind = 'postgres',
    nodes = 1,
    options,
  }: ClusterOptions = {}): Promise<Cluster> {
    await using stack = new AsyncDisposableStack()
    const home = mkdtempSync(join(tmpdir(), 'troupe-durable-'))
    stack.defer(() => rmSync(home, { recursive: true, force: true }))
    const all = await startRestateNodes(nodes)
    for (const node of all) stack.use(node)
    const entry = stack.use(await Address.open())
    entry.workers = all.map(({ ingress }) => Number(new URL(ingress).port))
    const postgres = kind === 'postgres' ? stack.use(await startPostgres({ durable: true })) : undefined
    const place = postgres ? { url: postgres.url, schema: postgres.schema() } : { path: join(home, 'store.db') }
    const address = stack.use(await Address.open())
    const store = stack.use(await openStore(place))
    const task = { store: place, effects: join(home, 'effects'), ...(options && { options }) }
    const cluster = new Cluster(stack.move(), all, entry, address, store, task, postgres)
    await Promise.all(Array.from({ length: workers }, () => cluster.addWorker()))
    await registerWorkers({ admin: cluster.restate.admin, workers: address.url })
    return cluster
  }

  /** The first node of Restate. */
  get restate(): TestRestate {
    return this.nodes[0] as TestRestate
  }

  /** The one address of the ingress of all nodes. */
  get ingress(): string {
    return this.#entry.url
  }

  /** Starts a worker behind the address. */
  async addWorker(): Promise<WorkerProcess> {
    const worker = await WorkerProcess.start(this.#task)
    this.workers.push(worker)
    this.#stack.use(worker)
    this.#showWorkers()
    return worker
  }

  /** Starts a server that speaks to clients. */
  async addServer(): Promise<WorkerProcess> {
    const { store, effects } = this.#task
    return this.#stack.use(await WorkerProcess.start({ store, effects, ingress: this.ingress }, 'server'))
  }

  /** Takes a worker out of the address. */
  removeWorker(worker: WorkerProcess): void {
    this.workers.splice(this.workers.indexOf(worker), 1)
    this.#showWorkers()
  }

  /** A runner that orders runs of an agent, as another process would have it. */
  runner(name = 'assistant', store: FullStore = this.store): Runner {
    const agent = agentsOf(this.effects)[name]
    if (!agent) throw new Error(`no agent ${name}`)
    return restateRunner({ agent, ingress: this.ingress, store })
  }

  /** The workers that have said something of a run. */
  speakers(events: readonly AgentEvent[]): readonly WorkerProcess[] {
    const words = events.map((event) => (event.type === 'text-delta' ? event.delta : '')).join('')
    return this.workers.filter(({ pid }) => words.includes(`.${pid} `))
  }

  /** Restarts the database server. */
  async restartPostgres(how?: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    await this.#postgres?.restart(how)
  }

  #showWorkers(): void {
    this.address.workers = this.workers.map(({ port }) => port)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#stack.disposeAsync()
  }
}

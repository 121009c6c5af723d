import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { AddressInfo } from 'node:net'
import * as restate from '@restatedev/restate-sdk'
import { DurableWorker, type RunnerHost, type SharedKeys } from '@troupe/durable'
import {
  type Clock,
  type Json,
  KernelError,
  type Restored,
  type Runner,
  type Store,
  type ThreadRef,
} from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import { quietLogger } from './quiet-logger.ts'
import { runObject } from './run-object.ts'
import { serviceName } from './service-name.ts'

/** Options of `restateWorker`. */
export interface RestateWorkerOptions {
  /** The agents, by `<name>` or `<name>@<version>`: each a function that makes its runner on what the worker gives it. Contract: called for each attempt of a run, so callbacks and agents are made outside. */
  readonly agents: { readonly [agent: string]: (host: RunnerHost) => Runner }
  /** The store that those who order runs have too. */
  readonly store: Pick<Store, 'threads' | 'leases' | 'journal' | 'runLog'>
  /** The context values that come with an order. @default none */
  readonly shared?: SharedKeys
  /** Gives back what cannot cross, from what a run carries: values of its context, and tools. @default nothing */
  readonly restore?: (carried: Json | undefined) => Restored
  /** Awaited before a run counts as done, so that its records are as safe as it is: `messages.flush`. @default nothing */
  readonly settled?: (ref: ThreadRef) => Promise<unknown>
  /** How long a model or a tool may be silent. @default 3_600_000 */
  readonly stepMs?: number
  /** How many characters a step may give; with more it fails with `STEP_TOO_LARGE`. @default 8_388_608 */
  readonly maxStepChars?: number
  /** How long Restate keeps the journal of a run that has ended, and knows its id. @default 3_600_000 */
  readonly retentionMs?: number
  /** How often a run is tried before Restate pauses it, for a person to look at. @default 100 */
  readonly maxAttempts?: number
  /** Public keys of the Restate servers that may call this worker. @default anybody who reaches its port */
  readonly identityKeys?: readonly string[]
  readonly clock?: Clock
}

/** A process that carries out runs. */
export interface RestateWorker extends AsyncDisposable {
  /** Serves Restate's requests over HTTP/2. Contract: gives the port, which the system chooses for 0. */
  serve(port?: number, host?: string): Promise<number>
  /** Hands the runs over to other workers and stops. Contract: waits for steps that are under way, at most `graceMs`; no step is done twice that ended in time. */
  stop(graceMs?: number): Promise<void>
}

/**
 * Carries out the runs of agents for Restate.
 * @example
 * const worker = restateWorker({ store, agents: { assistant: (host) => runner({ agent, ...host }) } })
 * await worker.serve(9080)
 */
export function restateWorker(options: RestateWorkerOptions): RestateWorker {
  checkOptionNames('restateWorker', options, OPTIONS)
  const { agents, store, shared = [], restore, settled, identityKeys = [], clock = systemClock } = options
  const { stepMs = 3_600_000, maxStepChars = 8_388_608, retentionMs = 3_600_000, maxAttempts = 100 } = options
  for (const [name, value] of Object.entries({ stepMs, maxStepChars, retentionMs, maxAttempts })) {
    checkOption(value > 0, 'restateWorker', `${name} must be a positive number`, value)
  }
  const { threads, leases, journal, runLog } = store ?? {}
  checkOption(Boolean(threads && leases && journal && runLog), 'restateWorker', 'store must be a Store', store)
  const names = Object.keys(agents ?? {})
  checkOption(names.length > 0, 'restateWorker', 'agents must have at least one agent', agents)
  const worker = new DurableWorker(clock)
  const objects = names.map((name) => {
    const runner = agents[name]
    if (typeof runner !== 'function') checkOption(false, 'restateWorker', `agents.${name} must be a function`, runner)
    const parts = { store, clock, runner: runner as (host: RunnerHost) => Runner, shared, restore, maxStepChars }
    const flush = settled && (({ ref }: { readonly ref: ThreadRef }) => settled(ref).then(() => undefined))
    return runObject(serviceName('restateWorker', name), worker, parts, flush, { stepMs, retentionMs, maxAttempts })
  })
  const handler = restate.createEndpointHandler({
    services: objects,
    logger: quietLogger,
    ...(identityKeys.length > 0 && { identityKeys: [...identityKeys] }),
  })
  const sessions = new Set<ServerHttp2Session>()
  let server: Http2Server | undefined

  return {
    serve(port = 9_080, host = '0.0.0.0') {
      if (server) throw new KernelError('CONFIG_INVALID', 'restateWorker: serves already')
      const own = createServer(handler)
      server = own
      own.on('session', (session) => {
        sessions.add(session)
        session.once('close', () => sessions.delete(session))
      })
      return new Promise((resolve, reject) => {
        own.once('error', reject)
        own.listen(port, host, () => resolve((own.address() as AddressInfo).port))
      })
    },
    async stop(graceMs = 20_000) {
      const own = server
      server = undefined
      // Restate sends what comes from now on to another worker.
      const closed = own && new Promise<void>((resolve) => own.close(() => resolve()))
      for (const session of sessions) session.close()
      await worker.stop(graceMs)
      for (const session of sessions) session.destroy()
      await closed
    },
    [Symbol.asyncDispose]() {
      return this.stop()
    },
  }
}

const OPTIONS: OptionNames<RestateWorkerOptions> = {
  agents: true,
  store: true,
  shared: true,
  restore: true,
  settled: true,
  stepMs: true,
  maxStepChars: true,
  retentionMs: true,
  maxAttempts: true,
  identityKeys: true,
  clock: true,
}

import { remoteRunner, type SharedKeys } from '@troupe/durable'
import type { Agent, Clock, Runner, Store } from '@troupe/kernel'
import { checkOption, checkOptionNames, type OptionNames, systemClock } from '@troupe/kernel/kit'
import { type IngressOptions, ingress } from './ingress.ts'
import { serviceName } from './service-name.ts'

/** Options of `restateRunner`. */
export interface RestateRunnerOptions<Output = unknown> {
  /** The agent that the workers have; here only its name and description are used. */
  readonly agent: Agent<Output>
  /** The version of the agent that new runs get: the workers have it as `<name>@<version>`. @default none */
  readonly version?: string
  /** The address of Restate's ingress, or how it is reached. */
  readonly ingress: string | IngressOptions
  /** The store that the workers have too. */
  readonly store: Pick<Store, 'threads' | 'leases' | 'runLog'>
  /** The context values that `prepare` sets and workers get; their values are JSON. @default none */
  readonly shared?: SharedKeys
  /** How long a new run waits for Restate and for a worker that begins it, before others may use its thread. @default 30_000 */
  readonly submitMs?: number
  readonly clock?: Clock
}

/**
 * Runs an agent on Restate: a worker carries the run out, and another one goes on when that one dies.
 * @example const chat = restateRunner({ agent, ingress: 'http://restate:8080', store })
 */
export function restateRunner<Output>(options: RestateRunnerOptions<Output>): Runner<Output> {
  checkOptionNames('restateRunner', options, OPTIONS)
  const { agent, version, store, shared = [], submitMs = 30_000, clock = systemClock } = options
  const how = typeof options.ingress === 'string' ? { url: options.ingress } : options.ingress
  checkOption(
    /^https?:\/\//.test(how?.url) && URL.canParse(how.url),
    'restateRunner',
    'ingress must be the address of the ingress, such as http://restate:8080',
    how?.url,
  )
  checkOption(Boolean(store?.threads && store.leases && store.runLog), 'restateRunner', 'store must be a Store', store)
  checkOption(submitMs > 0, 'restateRunner', 'submitMs must be a positive number of milliseconds', submitMs)
  const name = version === undefined ? agent.name : `${agent.name}@${version}`
  serviceName('restateRunner', name)
  return remoteRunner<Output>({ agent, name, store, engine: ingress(how, clock), clock, shared, submitMs })
}

const OPTIONS: OptionNames<RestateRunnerOptions> = {
  agent: true,
  version: true,
  ingress: true,
  store: true,
  shared: true,
  submitMs: true,
  clock: true,
}

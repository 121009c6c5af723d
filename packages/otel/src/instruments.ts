import {
  type Counter,
  createNoopMeter,
  type Histogram,
  type Meter,
  type MeterProvider,
  metrics,
  type UpDownCounter,
} from '@opentelemetry/api'
import type { Usage } from '@troupe/kernel'
import { BUCKETS, METRIC } from './conventions.ts'
import type { TokenAttributes } from './metric-attributes.ts'

/** What is counted and measured of runs. */
export class Instruments {
  readonly duration: Histogram
  readonly timeToFirstChunk: Histogram
  readonly timePerOutputChunk: Histogram
  readonly activeRuns: UpDownCounter
  readonly toolFailures: Counter
  readonly #tokens: Histogram
  readonly #cachedTokens: Counter
  readonly #cost: Counter

  constructor(meter: Meter) {
    const seconds = { unit: 's', advice: { explicitBucketBoundaries: BUCKETS.seconds } }
    const chunkSeconds = { unit: 's', advice: { explicitBucketBoundaries: BUCKETS.chunkSeconds } }
    this.duration = meter.createHistogram(METRIC.duration, {
      ...seconds,
      description: 'How long runs, agents, model calls and tool calls take.',
    })
    this.timeToFirstChunk = meter.createHistogram(METRIC.timeToFirstChunk, {
      ...seconds,
      description: 'The time from the request to the first part of an answer.',
    })
    this.timePerOutputChunk = meter.createHistogram(METRIC.timePerOutputChunk, {
      ...chunkSeconds,
      description: 'The time between the parts of an answer.',
    })
    this.#tokens = meter.createHistogram(METRIC.tokens, {
      unit: '{token}',
      description: 'Tokens of a model call, cached ones included.',
      advice: { explicitBucketBoundaries: BUCKETS.tokens },
    })
    this.#cachedTokens = meter.createCounter(METRIC.cachedTokens, {
      unit: '{token}',
      description: 'Input tokens that a provider has read from its cache (read) or put into it (write).',
    })
    this.#cost = meter.createCounter(METRIC.cost, {
      unit: '{currency}',
      description: 'What model calls cost, in the currency of the prices.',
    })
    this.activeRuns = meter.createUpDownCounter(METRIC.activeRuns, {
      unit: '{run}',
      description: 'Runs that are under way, without those nested in them.',
    })
    this.toolFailures = meter.createCounter(METRIC.toolFailures, {
      unit: '{call}',
      description: 'Tool calls that failed.',
    })
  }

  /** Counts the tokens of one model call, and what they cost. */
  addTokens(usage: Usage, { all, input, output, read, write }: TokenAttributes): void {
    this.#tokens.record(usage.inputTokens, input)
    this.#tokens.record(usage.outputTokens, output)
    const { cachedInputTokens, cacheWriteTokens, cost } = usage
    if (cachedInputTokens) this.#cachedTokens.add(cachedInputTokens, read)
    if (cacheWriteTokens) this.#cachedTokens.add(cacheWriteTokens, write)
    if (cost) this.#cost.add(cost, all)
  }
}

/** Gives the instruments of a meter provider; undefined while none is registered. */
export class InstrumentsOf {
  readonly #own: MeterProvider | undefined
  readonly #scope: readonly [name: string, version?: string]
  #provider: MeterProvider | undefined
  #instruments: Instruments | undefined

  constructor(own: MeterProvider | undefined, scope: readonly [name: string, version?: string]) {
    this.#own = own
    this.#scope = scope
  }

  /** Contract: an SDK may be registered after the first run; the API hands out no meters that find it later. */
  now(): Instruments | undefined {
    const provider = this.#own ?? metrics.getMeterProvider()
    if (provider === this.#provider) return this.#instruments
    this.#provider = provider
    const meter = provider.getMeter(...this.#scope)
    this.#instruments = meter === createNoopMeter() ? undefined : new Instruments(meter)
    return this.#instruments
  }
}

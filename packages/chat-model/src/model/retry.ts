import { KernelError } from '@troupe/kernel'
import { checkOption, checkOptionNames, got } from '@troupe/kernel/kit'
import { markModelError } from '../errors/error-origin.ts'

/** Gives the milliseconds to wait before the next attempt of a model call or tool call, or undefined for no further attempt. `attempt` counts the attempts made, from 1; `error.details` has `status` and `retryAfterMs` if the model gives them. */
export type RetryPolicy = (error: KernelError, attempt: number) => number | undefined

/** Asks a policy for the next pause. Contract: throws `CONFIG_INVALID` if the policy throws or returns anything else; `details.failure` is the error it was asked about. */
export function pauseOf(policy: RetryPolicy, failure: KernelError, attempt: number): number | undefined {
  const details = { failure: failure.toJSON() }
  const broken = (what: string, cause?: unknown) =>
    markModelError(new KernelError('CONFIG_INVALID', `retry policy: ${what}`, { cause, details }))
  let pause: number | undefined
  try {
    pause = policy(failure, attempt)
  } catch (cause) {
    throw broken(`threw, ${KernelError.from(cause).message}`, cause)
  }
  if (pause === undefined || (Number.isFinite(pause) && pause >= 0)) return pause
  throw broken(`expected milliseconds or undefined, ${got(pause)}`)
}

/** Options of the default policy. */
export interface BackoffOptions {
  /** All attempts, including the first. @default 3 */
  readonly attempts?: number
  /** Decides which errors are retried. @default those that are `retryable` */
  readonly when?: (error: KernelError) => boolean
  /** The first pause; each further one is twice as long. @default 500 */
  readonly firstMs?: number
  /** The longest pause; if a vendor asks for a longer one, the call is not retried. @default 30000 */
  readonly longestMs?: number
  /** Gives numbers from 0 to 1; a pause lasts between half and all of its length. @default Math.random */
  readonly random?: () => number
}

const NAMES = { attempts: true, when: true, firstMs: true, longestMs: true, random: true } as const
const ALIASES = { retries: 'attempts', maxRetries: 'attempts', maxMs: 'longestMs' } as const

/**
 * Retries errors, those that are `retryable` unless `when` says otherwise, with exponential pauses and jitter; waits for `details.retryAfterMs` if that is longer.
 * @example chatModelAgent({ name: 'weather', model, retry: backoff({ attempts: 5 }) })
 */
export function backoff(options: BackoffOptions = {}): RetryPolicy {
  checkOptionNames('backoff', options, NAMES, ALIASES)
  const {
    attempts = 3,
    when = isRetryable,
    firstMs = 500,
    longestMs = 30_000,
    // biome-ignore lint/plugin: a pause is part of the model call, which is an effect
    random = () => Math.random(),
  } = options
  checkOption(
    Number.isInteger(attempts) && attempts >= 1,
    'backoff',
    'attempts must be a whole number from 1 on',
    attempts,
  )
  for (const [option, value] of Object.entries({ firstMs, longestMs })) {
    checkOption(Number.isFinite(value) && value >= 0, 'backoff', `${option} must be a number of milliseconds`, value)
  }
  checkOption(typeof random === 'function', 'backoff', 'random must be a function', random)
  checkOption(typeof when === 'function', 'backoff', 'when must be a function', when)
  return (error, attempt) => {
    if (attempt >= attempts || !when(error)) return undefined
    const pause = Math.min(longestMs, firstMs * 2 ** (attempt - 1)) * (0.5 + random() / 2)
    const { retryAfterMs } = error.details
    const asked = typeof retryAfterMs === 'number' ? retryAfterMs : 0
    return asked > longestMs ? undefined : Math.max(pause, asked)
  }
}

function isRetryable({ retryable }: KernelError): boolean {
  return retryable
}

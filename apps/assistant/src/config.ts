import { KernelError } from '@troupe/kernel'
import { readSettings, type Settings } from '@troupe-apps/setup'

/** The settings of the app, from the environment. */
export interface Config extends Settings {
  /** 0 means any free port. */
  readonly port: number
  /** A pause between words of the demo model, so that a person sees it stream. */
  readonly wordDelayMs: number
  /** Whether a run whose server was killed goes on by itself when its page is back, or when the user asks for it. */
  readonly lostRuns: 'continue' | 'ask'
  /** The address at which a person sees a trace, with `{traceId}` in it. */
  readonly traceUrl: string | undefined
}

/** Reads the environment. Contract: throws `CONFIG_INVALID`, which says what to do. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    ...readSettings(env),
    port: readNumber('PORT', env.PORT, 0, 65_535),
    wordDelayMs: readNumber('TROUPE_WORD_DELAY_MS', env.TROUPE_WORD_DELAY_MS, 35, 10_000),
    lostRuns: readLostRuns(env.TROUPE_LOST_RUNS),
    traceUrl: readTraceUrl(env.TROUPE_TRACE_URL),
  }
}

function readLostRuns(text = 'continue'): Config['lostRuns'] {
  if (text === 'continue' || text === 'ask') return text
  throw new KernelError('CONFIG_INVALID', `TROUPE_LOST_RUNS: expected continue or ask, got "${text}"`)
}

function readTraceUrl(text: string | undefined): string | undefined {
  if (!text) return undefined
  if (/^https?:/.test(text) && URL.canParse(text) && text.includes('{traceId}')) return text
  throw new KernelError(
    'CONFIG_INVALID',
    `TROUPE_TRACE_URL: expected an address such as http://localhost:16686/trace/{traceId}, got "${text}"`,
  )
}

function readNumber(name: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined || text === '') return otherwise
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value <= most) return value
  throw new KernelError('CONFIG_INVALID', `${name}: expected a whole number of at most ${most}, got "${text}"`)
}

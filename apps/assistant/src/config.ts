import { KernelError } from '@troupe/kernel'

/** Vendors that the app knows, and the variables their keys come from. */
const KEYS = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  ollama: undefined,
} as const

/** A vendor's model; without one the demo model answers. */
export interface VendorModel {
  readonly vendor: keyof typeof KEYS
  readonly model: string
  /** Where an Ollama server listens. */
  readonly ollamaUrl: string
}

/** Where conversations are kept. */
export type Database =
  | { readonly type: 'sqlite'; readonly path: string }
  | { readonly type: 'postgres'; readonly url: string }

/** Everything the app is told from outside. */
export interface Config {
  readonly vendor: VendorModel | undefined
  /** 0 is any that is free. */
  readonly port: number
  readonly database: Database
  /** What the codebase investigator may look into. */
  readonly folder: string
  /** A pause between words of the demo model, so that a person sees it stream. */
  readonly wordDelayMs: number
}

/** Reads the environment. Contract: throws `CONFIG_INVALID` with what to do. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  return {
    vendor: env.TROUPE_MODEL ? readVendor(env.TROUPE_MODEL, env) : undefined,
    port: readNumber('PORT', env.PORT, 0, 65_535),
    database: env.DATABASE_URL
      ? { type: 'postgres', url: env.DATABASE_URL }
      : { type: 'sqlite', path: env.TROUPE_DB || 'troupe.db' },
    folder: env.TROUPE_FOLDER || '.',
    wordDelayMs: readNumber('TROUPE_WORD_DELAY_MS', env.TROUPE_WORD_DELAY_MS, 35, 10_000),
  }
}

function readNumber(name: string, text: string | undefined, otherwise: number, most: number): number {
  if (text === undefined || text === '') return otherwise
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value <= most) return value
  throw new KernelError('CONFIG_INVALID', `${name}: expected a whole number of at most ${most}, got "${text}"`)
}

function readVendor(text: string, env: NodeJS.ProcessEnv): VendorModel {
  const [vendor = '', ...rest] = text.split(':')
  const model = rest.join(':')
  if (!isVendor(vendor) || model === '') {
    const known = Object.keys(KEYS).join(', ')
    throw new KernelError(
      'CONFIG_INVALID',
      `TROUPE_MODEL: expected <vendor>:<model> with one of ${known}, got "${text}"`,
    )
  }
  const key = KEYS[vendor]
  if (key && !env[key]) {
    const hint = `set ${key}, or unset TROUPE_MODEL for the demo model`
    throw new KernelError('CONFIG_INVALID', `TROUPE_MODEL: ${vendor} needs a key; ${hint}`)
  }
  return { vendor, model, ollamaUrl: env.OLLAMA_BASE_URL ?? 'http://localhost:11434/v1' }
}

function isVendor(text: string): text is VendorModel['vendor'] {
  return Object.hasOwn(KEYS, text)
}

import { KernelError } from '@troupe/kernel'

/** The vendors that apps support, with the variable of each one's key. */
const KEYS = {
  openai: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  google: 'GOOGLE_GENERATIVE_AI_API_KEY',
  ollama: undefined,
} as const

/** A vendor's model, as `TROUPE_MODEL` names it. */
export interface VendorChoice {
  readonly vendor: keyof typeof KEYS
  readonly model: string
  /** The address of an Ollama server. */
  readonly ollamaUrl: string
}

/** Reads `TROUPE_MODEL`. Contract: throws `CONFIG_INVALID` for an unknown vendor and for a key that is missing. */
export function readVendor(env: NodeJS.ProcessEnv): VendorChoice | undefined {
  const text = env.TROUPE_MODEL
  if (!text) return undefined
  const [vendor = '', ...rest] = text.split(':')
  const model = rest.join(':')
  if (!isVendor(vendor) || model === '') {
    const expected = `<vendor>:<model> with a vendor of ${Object.keys(KEYS).join(', ')}`
    throw new KernelError('CONFIG_INVALID', `TROUPE_MODEL: expected ${expected}, got "${text}"`)
  }
  const key = KEYS[vendor]
  if (key && !env[key]) {
    const hint = `set ${key}, or unset TROUPE_MODEL for the demo model`
    throw new KernelError('CONFIG_INVALID', `TROUPE_MODEL: ${vendor} needs a key; ${hint}`)
  }
  return { vendor, model, ollamaUrl: env.OLLAMA_BASE_URL || 'http://localhost:11434/v1' }
}

/** The variable to check when a vendor refuses a call. */
export function variableOf(vendor: VendorChoice['vendor']): string {
  return KEYS[vendor] ?? 'OLLAMA_BASE_URL'
}

function isVendor(text: string): text is VendorChoice['vendor'] {
  return Object.hasOwn(KEYS, text)
}

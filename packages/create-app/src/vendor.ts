/** A vendor of models, with the names that stand for it in the files of an app. */
export interface Vendor {
  readonly id: VendorId
  /** Its name in prose. */
  readonly name: string
  /** The package that has its models. */
  readonly package: string
  readonly version: string
  /** The export of this package. */
  readonly factory: string
  readonly model: string
  /** The variable that makes the app use it. */
  readonly variable: string
}

/** The vendors that an app can be made for. */
export type VendorId = 'openai' | 'anthropic' | 'google' | 'ollama'

/** The vendor that templates are written for. */
export const TEMPLATE_VENDOR: Vendor = {
  id: 'openai',
  name: 'OpenAI',
  package: '@ai-sdk/openai',
  version: '4.0.114',
  factory: 'openai',
  model: 'gpt-5',
  variable: 'OPENAI_API_KEY',
}

/** All vendors. Contract: the versions of their packages are those of `apps/setup`. */
export const VENDORS: readonly Vendor[] = [
  TEMPLATE_VENDOR,
  {
    id: 'anthropic',
    name: 'Anthropic',
    package: '@ai-sdk/anthropic',
    version: '4.0.102',
    factory: 'anthropic',
    model: 'claude-sonnet-4-5',
    variable: 'ANTHROPIC_API_KEY',
  },
  {
    id: 'google',
    name: 'Google',
    package: '@ai-sdk/google',
    version: '4.0.117',
    factory: 'google',
    model: 'gemini-3-pro-preview',
    variable: 'GOOGLE_GENERATIVE_AI_API_KEY',
  },
  {
    id: 'ollama',
    name: 'Ollama',
    package: '@ai-sdk/openai-compatible',
    version: '3.0.90',
    factory: 'ollama',
    model: 'llama3.2',
    variable: 'OLLAMA_MODEL',
  },
]

/** Replaces the names of the vendor of templates by those of another one. Contract: the longest name first, and none twice. */
export function renameVendor(text: string, vendor: Vendor): string {
  const from = TEMPLATE_VENDOR
  const words = new Map([
    [`"${from.package}": "${from.version}"`, `"${vendor.package}": "${vendor.version}"`],
    [from.package, vendor.package],
    [from.variable, vendor.variable],
    [from.name, vendor.name],
    [from.factory, vendor.factory],
    [from.model, vendor.model],
  ])
  // A name within a longer one, such as `@ai-sdk/openai-compatible`, is another name.
  const pattern = new RegExp(`(?<![\\w-])(?:${[...words.keys()].join('|')})(?![\\w-])`, 'g')
  return text.replaceAll(pattern, (word) => words.get(word) ?? word)
}

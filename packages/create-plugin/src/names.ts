import { Script } from 'node:vm'
import { KINDS, type Kind } from './kind.ts'

/** The names of the parts of a plugin. */
export interface PluginNames {
  /** The npm package: `@acme/low-voice`. */
  readonly name: string
  /** Its folder: `low-voice`. */
  readonly folder: string
  /** The plugin, as errors name it: `low-voice`. */
  readonly label: string
  /** The same as the name of a tool: `low_voice`. */
  readonly snake: string
  /** The function that makes it: `lowVoice`. */
  readonly factory: string
  /** The type of its options: `LowVoiceOptions`. */
  readonly options: string
}

const PACKAGE_NAME = /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z][a-z0-9._-]*$/
/** A prefix by which people find plugins. Contract: it decides nothing, and is left out of identifiers for every kind. */
const PREFIX = new RegExp(`^troupe-((${KINDS.join('|')})-)?`)

/**
 * Names the parts of a plugin after its package.
 * Contract: throws where npm would refuse the name; `taken` are words that the factory must not be called.
 */
export function pluginNames(name: string, kind: Kind, taken: ReadonlySet<string>): PluginNames {
  if (!PACKAGE_NAME.test(name) || name.length > 214) {
    throw new Error(
      `'${name}' cannot be the name of an npm package. Use small letters, digits and hyphens, begin with a letter, and put a ` +
        `scope in front if you like: my-clock, @acme/my-clock.`,
    )
  }
  const folder = name.slice(name.indexOf('/') + 1)
  const short = folder.replace(PREFIX, '')
  const words = (/^[a-z]/.test(short) ? short : folder).split(/[._-]+/).filter((word) => word !== '')
  const [first = '', ...rest] = words
  const camel = first + rest.map(capital).join('')
  const factory = taken.has(camel) || !isIdentifier(camel) ? `${camel}${capital(kind)}` : camel
  const options = `${capital(factory)}Options`
  return { name, folder, label: words.join('-'), snake: words.join('_'), factory, options }
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function isIdentifier(word: string): boolean {
  try {
    return new Script(`'use strict'; async () => { const ${word} = 0 }`) !== undefined
  } catch {
    return false
  }
}

import { Script } from 'node:vm'

/** What the parts of a plugin are called. */
export interface PluginNames {
  /** The npm package: `@acme/troupe-handler-whisper`. */
  readonly name: string
  /** Its folder: `troupe-handler-whisper`. */
  readonly folder: string
  /** The handler, as errors name it: `whisper`. */
  readonly handler: string
  /** The function that makes it: `whisper`. */
  readonly factory: string
  /** The type of its options: `WhisperOptions`. */
  readonly options: string
}

const PACKAGE_NAME = /^(@[a-z0-9][a-z0-9._-]*\/)?[a-z][a-z0-9._-]*$/

/**
 * Names the parts of a plugin after its package.
 * Contract: throws where npm would refuse the name; `taken` are words that the factory must not be called.
 */
export function pluginNames(name: string, taken: ReadonlySet<string>): PluginNames {
  if (!PACKAGE_NAME.test(name) || name.length > 214) {
    throw new Error(
      `'${name}' cannot be the name of an npm package. Use small letters, digits and hyphens, begin with a letter, and put a ` +
        `scope in front if you like: troupe-handler-whisper, @acme/whisper.`,
    )
  }
  const folder = name.slice(name.indexOf('/') + 1)
  const short = folder.replace(/^troupe-(handler-)?/, '')
  const words = (/^[a-z]/.test(short) ? short : folder).split(/[._-]+/).filter((word) => word !== '')
  const [first = '', ...rest] = words
  const camel = first + rest.map(capital).join('')
  const factory = taken.has(camel) || !isIdentifier(camel) ? `${camel}Handler` : camel
  return { name, folder, handler: words.join('-'), factory, options: `${capital(factory)}Options` }
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

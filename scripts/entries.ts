/** Entry points of the packages, as `package.json` declares them. */
import { globSync, readFileSync } from 'node:fs'
import { join, posix, resolve } from 'node:path'

export const root: string = resolve(import.meta.dirname, '..')

/** An entry point of a package. */
export interface Entry {
  /** The folder of the package below the root. */
  readonly folder: string
  /** The name to import it by. */
  readonly name: string
  /** The source file, absolute. */
  readonly file: string
}

/** Every entry point of every package in `packages` that is a program; a style sheet is not. */
export function entries(): readonly Entry[] {
  return globSync('packages/*/package.json', { cwd: root })
    .sort()
    .flatMap((path) => {
      const folder = posix.dirname(path.replaceAll('\\', '/'))
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, path), 'utf8')) as {
        name: string
        exports?: Record<string, string>
      }
      const programs = Object.entries(exports).filter(([, file]) => !file.endsWith('.css'))
      return programs.map(([entry, file]) => ({
        folder,
        name: posix.join(name, entry),
        file: join(root, folder, file),
      }))
    })
}

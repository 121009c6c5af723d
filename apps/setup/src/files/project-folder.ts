import { realpath } from 'node:fs/promises'
import { basename, isAbsolute, relative, resolve, sep } from 'node:path'
import { KernelError } from '@troupe/kernel'
import { CAN_OPEN_BELOW, FolderHandle } from './folder-handle.ts'

/** Folders that hold no sources: dependencies and results of builds. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage', 'artifacts'])
const DATABASE = /\.(db|sqlite|sqlite3)(-wal|-shm|-journal)?$/
const MAX_FILES = 5_000
const MAX_BYTES = 256 * 1024

/**
 * Reads the text files of one folder.
 * Contract: never reads outside it, whatever a path says, a link points to or takes the place of a folder meanwhile; refuses hidden files,
 * dependencies and databases, and opens nothing but regular files. An error never has a path of this machine.
 */
export class ProjectFolder {
  readonly #root: string
  readonly #below: boolean

  /** `below` says whether files are opened relative to an open folder; by default if the system can. */
  constructor(root: string, below: boolean = CAN_OPEN_BELOW) {
    this.#root = resolve(root)
    this.#below = below
  }

  /** Lists the paths of files, without links and what is refused. */
  async *files(signal: AbortSignal, under = '.'): AsyncGenerator<string> {
    const waiting = [await this.#namesOf(under)]
    let found = 0
    for (let names = waiting.shift(); names !== undefined; names = waiting.shift()) {
      signal.throwIfAborted()
      const { folders, files } = await this.#in(names, under, (folder) => folder.entries())
      const base = names
      waiting.push(...folders.filter(isVisible).map((name) => [...base, name]))
      for (const file of files.filter(isVisible)) {
        if (++found > MAX_FILES) return
        yield [...base, file].join('/')
      }
    }
  }

  /** Reads the text of a file. Contract: throws `TOOL_FAILED` for one that is too long or not a text. */
  async read(path: string): Promise<string> {
    const names = await this.#namesOf(path)
    const file = await this.#in(names.slice(0, -1), path, (folder) => folder.file(names.at(-1) ?? '.'))
    if (!file) throw refusal(path, 'is not a file')
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES + 1), 0, MAX_BYTES + 1, 0)
      if (bytesRead > MAX_BYTES) throw refusal(path, 'is too long')
      const bytes = buffer.subarray(0, bytesRead)
      if (bytes.includes(0)) throw refusal(path, 'is not a text file')
      return bytes.toString('utf8')
    } catch (error) {
      throw withoutPaths(path, error)
    } finally {
      await file.close()
    }
  }

  /** Opens a folder name by name, from the root, and closes it after the work. */
  async #in<T>(names: readonly string[], path: string, work: (folder: FolderHandle) => Promise<T>): Promise<T> {
    let folder: FolderHandle | undefined
    try {
      folder = await FolderHandle.open(await realpath(this.#root), this.#below)
      for (const name of names) {
        const outer: FolderHandle = folder
        folder = await outer.folder(name).finally(() => outer.close())
      }
      return await work(folder)
    } catch (error) {
      throw withoutPaths(path, error)
    } finally {
      await folder?.close()
    }
  }

  /** Gives the names that lead from the root to a path, with its links resolved. Contract: throws unless it is inside and visible. */
  async #namesOf(path: string): Promise<readonly string[]> {
    let names: readonly string[]
    try {
      const root = await realpath(this.#root)
      const full = resolve(root, path)
      if (!isWithin(root, full)) throw refusal(path, 'is outside the folder; use a path inside it')
      checkVisible(path, namesBetween(root, full))
      const real = await realpath(full)
      if (!isWithin(root, real)) throw refusal(path, 'is outside the folder; use a path inside it')
      names = namesBetween(root, real)
    } catch (error) {
      throw withoutPaths(path, error)
    }
    checkVisible(path, names)
    return names
  }
}

function namesBetween(root: string, path: string): readonly string[] {
  return relative(root, path)
    .split(sep)
    .filter((name) => name !== '')
}

function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function checkVisible(path: string, names: readonly string[]): void {
  if (!names.every(isVisible)) throw refusal(path, 'is hidden, a dependency, a build or a database, which are not read')
}

function isVisible(name: string): boolean {
  const lower = name.toLowerCase()
  return !lower.startsWith('.') && !SKIPPED.has(lower) && !DATABASE.test(lower)
}

const REASONS: Record<string, string> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  ERR_INVALID_ARG_VALUE: 'does not exist',
  ELOOP: 'is outside the folder; use a path inside it',
}

function withoutPaths(path: string, error: unknown): KernelError {
  if (KernelError.is(error)) return error
  const { code = '' } = Object(error) as { readonly code?: string }
  return refusal(path, REASONS[code] ?? 'cannot be read')
}

function refusal(path: string, why: string): KernelError {
  const shown = isAbsolute(path) ? `…/${basename(path)}` : path
  return new KernelError('TOOL_FAILED', `file ${JSON.stringify(shown)}: ${why}`)
}

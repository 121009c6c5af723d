import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { KernelError } from '@troupe/kernel'

/** Folders that hold no sources. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage'])
const MAX_FILES = 5_000
const MAX_BYTES = 256 * 1024

/** Reads the text files of one folder. Contract: never reads outside it, whatever a path says or a link points to. */
export class Folder {
  readonly #root: string

  constructor(root: string) {
    this.#root = resolve(root)
  }

  /** Lists the paths of files, without links and hidden files. */
  async *files(signal: AbortSignal, under = '.'): AsyncGenerator<string> {
    const waiting = [await this.#inside(under)]
    const root = await realpath(this.#root)
    let found = 0
    for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
      signal.throwIfAborted()
      const { folders, files } = await visibleIn(folder)
      waiting.push(...folders)
      for (const file of files) {
        if (++found > MAX_FILES) return
        yield relative(root, file).split(sep).join('/')
      }
    }
  }

  /** Reads the text of a file, up to a limit. */
  async read(path: string): Promise<string> {
    const real = await this.#inside(path)
    // Does not follow a link that was put in its place since the check.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      if (!(await file.stat()).isFile()) throw refusal(path, 'is not a file')
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0)
      const bytes = buffer.subarray(0, bytesRead)
      if (bytes.includes(0)) throw refusal(path, 'is not a text file')
      return bytes.toString('utf8')
    } finally {
      await file.close()
    }
  }

  /** Resolves a path, with its links. Contract: throws unless it is inside the folder. */
  async #inside(path: string): Promise<string> {
    const full = resolve(this.#root, path)
    let [root, real] = [this.#root, full]
    if (within(root, full)) {
      try {
        ;[root, real] = await Promise.all([realpath(this.#root), realpath(full)])
      } catch {
        throw refusal(path, 'does not exist')
      }
    }
    if (!within(root, real)) throw refusal(path, 'is outside the folder; use a path inside it')
    return real
  }
}

/** The folders and files in a folder, without links and hidden ones, sorted by name. */
async function visibleIn(folder: string): Promise<{ readonly folders: string[]; readonly files: string[] }> {
  const entries = await readdir(folder, { withFileTypes: true })
  const visible = entries
    .filter(({ name }) => !name.startsWith('.') && !SKIPPED.has(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const paths = (list: typeof visible) => list.map(({ name }) => join(folder, name))
  return {
    folders: paths(visible.filter((entry) => entry.isDirectory())),
    files: paths(visible.filter((entry) => entry.isFile())),
  }
}

function within(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function refusal(path: string, why: string): KernelError {
  return new KernelError('TOOL_FAILED', `file ${JSON.stringify(path)}: ${why}`)
}

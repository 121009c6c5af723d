import { constants } from 'node:fs'
import { open, readdir, realpath } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { KernelError } from '@troupe/kernel'

/** Nobody asks about these. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage'])
const MAX_FILES = 5_000
const MAX_BYTES = 256 * 1024

/** The text files of one folder, to be read. Contract: nothing outside it is read, whatever a path says or a link points to. */
export class Folder {
  readonly #root: string

  constructor(root: string) {
    this.#root = resolve(root)
  }

  /** Paths of files, in order, without links and hidden files. */
  async *files(signal: AbortSignal, under = '.'): AsyncGenerator<string> {
    const waiting = [await this.#inside(under)]
    const root = await realpath(this.#root)
    for (let found = 0; waiting.length > 0; ) {
      signal.throwIfAborted()
      const folder = waiting.shift() as string
      const entries = await readdir(folder, { withFileTypes: true })
      for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) continue
        const path = join(folder, entry.name)
        if (entry.isDirectory()) waiting.push(path)
        else if (entry.isFile()) {
          if (++found > MAX_FILES) return
          yield relative(root, path).split(sep).join('/')
        }
      }
    }
  }

  /** The text of a file, as far as it is not too long. */
  async read(path: string): Promise<string> {
    const real = await this.#inside(path)
    // The file itself, not what somebody may have put in its place since.
    const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      if (!(await file.stat()).isFile()) throw refusal(path, 'is no file')
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0)
      const bytes = buffer.subarray(0, bytesRead)
      if (bytes.includes(0)) throw refusal(path, 'is no text')
      return bytes.toString('utf8')
    } finally {
      await file.close()
    }
  }

  /** The place that a path leads to, if it is inside. */
  async #inside(path: string): Promise<string> {
    const full = resolve(this.#root, path)
    let [root, real] = [this.#root, full]
    if (within(root, full)) {
      try {
        ;[root, real] = await Promise.all([realpath(this.#root), realpath(full)])
      } catch {
        throw refusal(path, 'is not there')
      }
    }
    if (!within(root, real)) throw refusal(path, 'leads out of the folder; give a path inside it')
    return real
  }
}

function within(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function refusal(path: string, why: string): KernelError {
  return new KernelError('TOOL_FAILED', `file ${JSON.stringify(path)}: ${why}`)
}

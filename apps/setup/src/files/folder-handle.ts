import { constants, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises'
import { join } from 'node:path'

const { O_RDONLY, O_DIRECTORY = 0, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
/** Linux: opens the place of a file and not the file, so that opening a pipe or a device does nothing. */
const O_PATH = 0x20_0000
/** Where Linux shows the open files of this process: a path below an open folder stays below it, whatever is renamed meanwhile. */
const OPEN_FILES = '/proc/self/fd'

/** Whether files can be opened relative to an open folder. */
export const CAN_OPEN_BELOW: boolean = process.platform === 'linux' && existsSync(OPEN_FILES)

/**
 * An open folder, whose entries are opened by name and without following links.
 * Contract: on Linux, whatever takes the folder's place after it was opened is not seen; on other systems a swapped folder is noticed
 * after opening, before anything is read. The caller closes it.
 */
export class FolderHandle {
  readonly #handle: FileHandle | undefined
  #isClosed = false
  readonly #path: string

  private constructor(path: string, handle: FileHandle | undefined) {
    this.#path = handle ? `${OPEN_FILES}/${handle.fd}` : path
    this.#handle = handle
  }

  /** Opens a folder by its path without links. */
  static async open(path: string, below: boolean = CAN_OPEN_BELOW): Promise<FolderHandle> {
    if (below) return new FolderHandle(path, await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW))
    if (!(await lstat(path)).isDirectory()) throw codedError('ENOTDIR')
    await checkPlace(path)
    return new FolderHandle(path, undefined)
  }

  folder(name: string): Promise<FolderHandle> {
    return FolderHandle.open(join(this.#path, name), this.#handle !== undefined)
  }

  /** Lists its folders and files, without links, pipes and devices, sorted by name. */
  async entries(): Promise<{ readonly folders: readonly string[]; readonly files: readonly string[] }> {
    const entries = await readdir(this.#path, { withFileTypes: true })
    const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    return {
      folders: sorted.filter((entry) => entry.isDirectory()).map(({ name }) => name),
      files: sorted.filter((entry) => entry.isFile()).map(({ name }) => name),
    }
  }

  /** Opens a file for reading. Contract: gives `undefined` for anything that is not a regular file, without opening it. */
  async file(name: string): Promise<FileHandle | undefined> {
    const path = join(this.#path, name)
    if (!this.#handle) return openChecked(path)
    const place = await open(path, O_PATH | O_NOFOLLOW)
    try {
      return (await place.stat()).isFile() ? await open(`${OPEN_FILES}/${place.fd}`, O_RDONLY) : undefined
    } finally {
      await place.close()
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    await this.#handle?.close()
  }
}

/** Opens a file by its path. Contract: checks before and after that it is the same regular file, with no link on its way. */
async function openChecked(path: string): Promise<FileHandle | undefined> {
  const before = await lstat(path)
  if (!before.isFile()) return undefined
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const after = await file.stat()
    if (!after.isFile() || !isSame(before, after)) throw codedError('ELOOP')
    await checkPlace(path)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

function isSame(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev
}

async function checkPlace(path: string): Promise<void> {
  if ((await realpath(path)) !== path) throw codedError('ELOOP')
}

function codedError(code: string): Error {
  return Object.assign(new Error(code), { code })
}

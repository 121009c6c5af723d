import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { KernelError } from '@troupe/kernel'

const BUSY = 5
const LOCKED = 6
const READONLY = 8
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const NOTADB = 26

/** Another connection is in the way. */
export function isBusy(error: unknown): boolean {
  return [BUSY, LOCKED].includes(codeOf(error))
}

/** What SQLite said, with what to do about it. */
export function sqliteError(cause: unknown, path: string): KernelError {
  const said = cause instanceof Error ? cause.message : String(cause)
  const at = `got ${JSON.stringify(path)} (${said})`
  switch (codeOf(cause)) {
    case BUSY:
    case LOCKED:
      return new KernelError(
        'STORE_BUSY',
        `sqliteStore: another process kept writing; try again, or raise busyTimeoutMs, ${at}`,
        { cause, retryable: true },
      )
    case READONLY:
      return new KernelError(
        'STORE_READ_ONLY',
        `sqliteStore: the file or its folder cannot be written; both must be writable by this user, ${at}`,
        { cause },
      )
    case CORRUPT:
    case NOTADB:
      return new KernelError(
        'STORE_INVALID',
        `sqliteStore: the file is no SQLite database, or a broken one; name another, or restore it from a backup, ${at}`,
        { cause },
      )
    case FULL:
      return new KernelError('STORE_FULL', `sqliteStore: the disk is full; nothing was written, make room, ${at}`, {
        cause,
        retryable: true,
      })
    case CANTOPEN:
      return new KernelError('STORE_UNAVAILABLE', `sqliteStore: ${whyNotOpen(path)}, ${at}`, { cause })
    default:
      return new KernelError('STORE_FAILED', `sqliteStore: the database failed, ${at}`, { cause })
  }
}

function whyNotOpen(path: string): string {
  const folder = dirname(resolve(path))
  if (!existsSync(folder)) return `the folder ${JSON.stringify(folder)} does not exist; create it first`
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return 'the path is a folder; name a file in it'
  return 'the file cannot be opened; check the rights of this user on it and its folder'
}

/** SQLite's own code without its extension; 0 for anything else. */
function codeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : 0
}

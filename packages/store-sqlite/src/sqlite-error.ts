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

/** Whether another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return [BUSY, LOCKED].includes(codeOf(error))
}

/** Whether a file, or its folder, may only be read. */
export function isReadOnly(error: unknown): boolean {
  return codeOf(error) === READONLY
}

/** Whether a file could be read if SQLite might write to its folder. */
export function needsFolder(error: unknown): boolean {
  return isReadOnly(error) && (error as { errcode: number }).errcode !== READONLY
}

/** Converts an error of SQLite to a coded error that says what to do. */
export function sqliteError(cause: unknown, path: string): KernelError {
  const text = cause instanceof Error ? cause.message : String(cause)
  const at = `got ${JSON.stringify(path)} (${text})`
  switch (codeOf(cause)) {
    case BUSY:
    case LOCKED:
      return new KernelError(
        'STORE_BUSY',
        `sqliteStore: the file stayed locked by another process; try again, or raise busyTimeoutMs, ${at}`,
        { cause, retryable: true },
      )
    case READONLY:
      return new KernelError(
        'STORE_READ_ONLY',
        `sqliteStore: the file or its folder is read-only, so it can only be read; make both writable for this user and open it again, ${at}`,
        { cause },
      )
    case CORRUPT:
    case NOTADB:
      return new KernelError(
        'STORE_INVALID',
        `sqliteStore: the file is not an SQLite database, or is corrupt; use another path, or restore it from a backup, ${at}`,
        { cause },
      )
    case FULL:
      return new KernelError(
        'STORE_FULL',
        `sqliteStore: the disk is full and this write did not happen; free some space, ${at}`,
        {
          cause,
          retryable: true,
        },
      )
    case CANTOPEN:
      return new KernelError('STORE_UNAVAILABLE', `sqliteStore: ${whyNotOpen(path)}, ${at}`, { cause })
    default:
      return new KernelError('STORE_FAILED', `sqliteStore: the database failed, ${at}`, { cause })
  }
}

function whyNotOpen(path: string): string {
  const folder = dirname(resolve(path))
  if (!existsSync(folder)) return `the folder ${JSON.stringify(folder)} does not exist; create it first`
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return 'the path is a folder; use a file in it'
  return 'the file cannot be opened; check the permissions of the file and its folder'
}

/** SQLite's own code without its extension; 0 for anything else. */
function codeOf(error: unknown): number {
  const code = (error as { errcode?: unknown } | undefined)?.errcode
  return typeof code === 'number' ? code & 0xff : 0
}

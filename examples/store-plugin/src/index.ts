import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, KernelError, type Store } from '@troupe/kernel'
import { checkOption, systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { jsonText, storeClosed } from '@troupe/kernel/store'

/** Options of `journalFile`. */
export interface JournalFileOptions {
  /** The path of the file, which is created with the first use if its folder exists. */
  readonly path: string
  /** @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** One change: its time, and the call that made it. */
interface Line {
  readonly at: number
  readonly call: string
  readonly args: readonly unknown[]
}

type Method = (...args: never) => Promise<unknown>

/**
 * A store that keeps everything in one file of JSON lines.
 * Contract: each change is one line, written before its promise resolves; opening the file makes the changes again, in memory. One
 * store has the file to itself (`STORE_BUSY`).
 * @example await using store = journalFile({ path: 'chat.jsonl' })
 */
export function journalFile({ path, clock = systemClock }: JournalFileOptions): Store {
  checkOption(typeof path === 'string' && path !== '', 'journalFile', 'path is the name of a file', path)
  /** The time of the current change. */
  let past: number | undefined
  const memory = memoryStore({ clock: { now: () => past ?? clock.now() } })
  const { threads, records, runLog, journal, leases, grants, blobs } = memory
  const writes: { readonly [call: string]: Method } = {
    open: threads.open,
    commit: threads.commit,
    label: threads.label,
    fork: threads.fork,
    cut: threads.cut,
    delete: threads.delete,
    apply: records.apply,
    pruneRecords: records.prune,
    append: runLog.append,
    compact: runLog.compact,
    prune: runLog.prune,
    appendStep: journal.append,
    acquire: leases.acquire,
    renew: leases.renew,
    release: leases.release,
    requestCancel: leases.requestCancel,
    grant: grants.add,
    revoke: grants.revoke,
    put: blobs.put,
  }

  /** Makes a change with its time. Contract: a change in memory is synchronous, so that no other change gets this time. */
  const change = <Result>(at: number, make: () => Promise<Result>): Promise<Result> => {
    past = at
    try {
      return make()
    } finally {
      past = undefined
    }
  }
  const replay = async ({ at, call, args }: Line) => change(at, async () => writes[call]?.(...(args as never)))

  let opened: Promise<FileHandle> | undefined
  let closed = false
  const file = () => {
    opened ??= openFile(path, replay)
    // A file that could not be opened may exist the next time.
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
  const refuseClosed = () => {
    if (closed) throw storeClosed('journalFile')
  }

  /** Changes wait for each other, so that the lines are in the order of the changes. */
  let last: Promise<unknown> = Promise.resolve()
  const write =
    <Args extends readonly unknown[], Result>(call: string, make: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      refuseClosed()
      const done = last.then(async () => {
        const lines = await file()
        const at = clock.now()
        const line: Line = { at, call, args: trimmed(args) }
        // Converted first, so that a change that cannot be written is not made.
        const text = jsonText('journalFile', 'a change', line)
        const result = await change(at, () => make(...args))
        await lines.appendFile(`${text}\n`).catch((cause) => {
          // The memory has a change that the file does not have, so the store accepts no more changes.
          closed = true
          throw failure('STORE_FAILED', `${path} cannot be written; make room and open the store again`, cause)
        })
        return result
      })
      last = done.catch(() => undefined)
      return done
    }
  const read =
    <Args extends readonly unknown[], Result>(make: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      refuseClosed()
      await file()
      return make(...args)
    }

  return {
    threads: {
      get: read(threads.get),
      open: write('open', threads.open),
      commit: write('commit', threads.commit),
      messages: read(threads.messages),
      known: read(threads.known),
      processed: read(threads.processed),
      list: read(threads.list),
      recent: read(threads.recent),
      label: write('label', threads.label),
      fork: write('fork', threads.fork),
      cut: write('cut', threads.cut),
      delete: write('delete', threads.delete),
      idle: read(threads.idle),
    },
    records: {
      apply: write('apply', records.apply),
      runs: read(records.runs),
      toolCalls: read(records.toolCalls),
      modelCalls: read(records.modelCalls),
      usage: read(records.usage),
      open: read(records.open),
      prune: write('pruneRecords', records.prune),
    },
    runLog: {
      append: write('append', runLog.append),
      async *follow(ref, runId, options) {
        refuseClosed()
        await file()
        yield* runLog.follow(ref, runId, options)
      },
      compact: write('compact', runLog.compact),
      prune: write('prune', runLog.prune),
    },
    journal: {
      append: write('appendStep', journal.append),
      read: read(journal.read),
      lost: read(journal.lost),
    },
    leases: {
      acquire: write('acquire', leases.acquire),
      renew: write('renew', leases.renew),
      release: write('release', leases.release),
      requestCancel: write('requestCancel', leases.requestCancel),
    },
    grants: {
      list: read(grants.list),
      add: write('grant', grants.add),
      revoke: write('revoke', grants.revoke),
    },
    blobs: {
      put: write('put', blobs.put),
      get: read(blobs.get),
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await last
      await memory[Symbol.asyncDispose]()
      const lines = await opened?.catch(() => undefined)
      opened = undefined
      if (!lines) return
      await lines.close()
      await unlock(path)
    },
  }
}

function failure(code: string, what: string, cause?: unknown): KernelError {
  return new KernelError(code, `journalFile: ${what}`, { cause })
}

function lockOf(path: string): string {
  return `${path}.lock`
}

/** Removes arguments that were left out, which JSON would turn into null. */
function trimmed(args: readonly unknown[]): readonly unknown[] {
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
}

/** Locks the file, applies its changes and leaves it open for more. */
async function openFile(path: string, replay: (line: Line) => Promise<unknown>): Promise<FileHandle> {
  await lock(path)
  try {
    const file = await open(path, 'a+')
    const text = await file.readFile('utf8')
    // An incomplete line was never acknowledged: the process ended while it wrote it.
    const whole = text.lastIndexOf('\n') + 1
    if (whole < text.length) await file.truncate(Buffer.byteLength(text.slice(0, whole)))
    for (const [i, line] of text.slice(0, whole).split('\n').slice(0, -1).entries()) {
      await replay(parse(line, `${path}, line ${i + 1}`))
    }
    return file
  } catch (error) {
    await unlock(path)
    throw KernelError.is(error) ? error : failure('STORE_UNAVAILABLE', `${path} cannot be opened`, error)
  }
}

function parse(line: string, where: string): Line {
  try {
    return JSON.parse(line) as Line
  } catch (cause) {
    throw failure('STORE_INVALID', `${where} is not JSON; restore the file from a backup`, cause)
  }
}

/** The files that this process has locked: after a crash, a new process may have the id of the old one. */
const locked = new Set<string>()

/** Creates the lock file with the id of this process; replaces the lock of a process that has ended. */
async function lock(path: string): Promise<void> {
  for (const again of [true, false]) {
    try {
      const file = await open(lockOf(path), 'wx')
      locked.add(resolve(path))
      await file.writeFile(`${process.pid}`)
      return await file.close()
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw failure('STORE_UNAVAILABLE', `${path} cannot be opened`, cause)
      }
      const holder = Number(await readFile(lockOf(path), 'utf8').catch(() => ''))
      const isHeld = holder === process.pid ? locked.has(resolve(path)) : isRunning(holder)
      if (isHeld || !again) {
        throw failure('STORE_BUSY', `process ${holder} has ${path} open; if it has not, delete ${lockOf(path)}`, cause)
      }
      await rm(lockOf(path), { force: true })
    }
  }
}

async function unlock(path: string): Promise<void> {
  locked.delete(resolve(path))
  await rm(lockOf(path), { force: true })
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

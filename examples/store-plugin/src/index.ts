import { type FileHandle, open, readFile, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type Clock, KernelError, type Store } from '@troupe/kernel'
import { checkOption, systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { jsonText, storeClosed } from '@troupe/kernel/store'

/** Where everything is kept. */
export interface JournalFileOptions {
  /** The file, made at first use if its folder exists. */
  readonly path: string
  /** @default the system's clock */
  readonly clock?: Pick<Clock, 'now'>
}

/** One change: when it was made, and the call that made it. */
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
  /** The moment of the change that is being made. */
  let past: number | undefined
  const { threads, records, runLog, leases, ...memory } = memoryStore({ clock: { now: () => past ?? clock.now() } })
  const writes: { readonly [call: string]: Method } = {
    open: threads.open,
    commit: threads.commit,
    delete: threads.delete,
    apply: records.apply,
    append: runLog.append,
    acquire: leases.acquire,
    renew: leases.renew,
    release: leases.release,
    requestCancel: leases.requestCancel,
  }

  /** Makes a change at its moment. Contract: in memory a change is made at once, so that the moment holds for this one alone. */
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
    // A file that could not be opened may be there the next time.
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
  const refuseClosed = () => {
    if (closed) throw storeClosed('journalFile')
  }

  /** Changes wait for each other, so that the lines stand in the order in which the changes were made. */
  let last: Promise<unknown> = Promise.resolve()
  const write =
    <Args extends readonly unknown[], Result>(call: string, make: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      refuseClosed()
      const done = last.then(async () => {
        const journal = await file()
        const at = clock.now()
        const line: Line = { at, call, args: trimmed(args) }
        // Made first: a change that cannot be written is not made.
        const text = jsonText('journalFile', 'a change', line)
        const result = await change(at, () => make(...args))
        await journal.appendFile(`${text}\n`).catch((cause) => {
          // Memory is ahead of the file now, so nothing more may be built on it.
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
      processed: read(threads.processed),
      list: read(threads.list),
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
    },
    runLog: {
      append: write('append', runLog.append),
      async *follow(ref, runId, options) {
        refuseClosed()
        await file()
        yield* runLog.follow(ref, runId, options)
      },
    },
    leases: {
      acquire: write('acquire', leases.acquire),
      renew: write('renew', leases.renew),
      release: write('release', leases.release),
      requestCancel: write('requestCancel', leases.requestCancel),
    },
    async [Symbol.asyncDispose]() {
      closed = true
      await last
      await memory[Symbol.asyncDispose]()
      const journal = await opened?.catch(() => undefined)
      opened = undefined
      if (!journal) return
      await journal.close()
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

/** Arguments that were left out do not come back as null. */
function trimmed(args: readonly unknown[]): readonly unknown[] {
  return args.slice(0, args.findLastIndex((arg) => arg !== undefined) + 1)
}

/** Locks the file, makes its changes again, and leaves it open for more. */
async function openFile(path: string, replay: (line: Line) => Promise<unknown>): Promise<FileHandle> {
  await lock(path)
  try {
    const file = await open(path, 'a+')
    const text = await file.readFile('utf8')
    // A line without its end was never acknowledged: the process ended in the middle of it.
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

/** Makes the lock file, with the process in it; one of a process that is gone does not count. */
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

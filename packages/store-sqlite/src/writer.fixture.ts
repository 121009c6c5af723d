/** A process that uses one file with others: `node writer.fixture.ts <path> <task> <name>`; prints JSON. */
import { KernelError } from '@troupe/kernel'
import { sqlStore } from '@troupe/store-sql'
import { counted } from '@troupe/store-sql/first-version'
import { type SqliteStore, sqliteEngine, sqliteStore } from './sqlite-store.ts'

const [, , path = '', task = '', name = ''] = process.argv
const ref = { app: 'app', user: 'anna', threadId: 'shared' }

/** Appends until it is killed, and tells what it has written. */
async function append(store: SqliteStore): Promise<never> {
  await store.threads.open(ref)
  for (let last = 0; ; ) {
    last = await store.runLog.append(ref, 'run-1', last, [`event ${last + 1}`])
    process.stderr.write(`${last}\n`)
  }
}

async function work(): Promise<unknown> {
  if (task === 'migrate-and-freeze') {
    const freeze = (statement: number) => {
      if (statement !== Number(name)) return
      process.stderr.write('frozen\n')
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000)
    }
    return await sqlStore(counted(sqliteEngine({ path }), freeze)).ready()
  }
  await using store = sqliteStore({ path, synchronous: 'normal', busyTimeoutMs: 20_000, pollMs: 5 })
  if (task === 'migrate') return await store.ready()
  if (task === 'records') {
    await store.threads.open(ref)
    const seqs: unknown[] = []
    for (let i = 0; i < 100; i++) {
      const run = { runId: `${name}-${i}`, agentName: name, startedAt: i }
      const [result] = await store.records.apply(ref, [{ type: 'run-start', run }])
      seqs.push(result?.seq)
    }
    return seqs
  }
  if (task === 'follow') {
    const seen: unknown[] = []
    const { signal } = new AbortController()
    for await (const batch of store.runLog.follow(ref, 'run-1', { signal })) {
      seen.push(...batch.map(({ event }) => event))
      process.stderr.write('read\n')
    }
    return seen
  }
  if (task === 'append') return await append(store)
  if (task === 'write-as-nobody') return await store.threads.open(ref)
  if (task === 'read-as-nobody') {
    const token = 1
    const writes = [
      () => store.threads.open({ ...ref, threadId: 'new' }),
      () => store.threads.commit(ref, { set: { a: 2 } }, token),
      () => store.threads.delete(ref),
      () => store.leases.acquire({ ...ref, threadId: 'new' }, { runId: 'next', ttlMs: 1000 }),
      () => store.leases.renew(ref, token, 1000),
      () => store.leases.release(ref, token),
      () => store.runLog.append(ref, 'run-1', 1, ['b']),
      () => store.journal.append(ref, 'run-1', ['b'], token),
      () => store.records.apply(ref, [{ type: 'run-start', run: { runId: 'r', agentName: 'a', startedAt: 1 } }]),
    ]
    const refused: string[] = []
    for (const write of writes) {
      refused.push(
        await write().then(
          () => 'written',
          (error: unknown) => KernelError.from(error).code,
        ),
      )
    }
    const log: unknown[] = []
    const { signal } = new AbortController()
    for await (const batch of store.runLog.follow(ref, 'run-1', { live: false, signal })) log.push(...batch)
    return {
      refused,
      threads: await store.threads.list(ref),
      opened: (await store.threads.open(ref)).seq,
      messages: await store.threads.messages(ref),
      journal: await store.journal.read(ref),
      runs: await store.records.runs(ref),
      log,
    }
  }
  // Otherwise it takes the lease and waits to be killed.
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: name, ttlMs: 60_000 })
  await store.threads.commit(ref, { set: { by: name } }, token)
  process.stderr.write('held\n')
  await new Promise((resolve) => setTimeout(resolve, 60_000))
  return undefined
}

// Root may write everywhere, an ordinary user has to obey the rights of files.
if (task.endsWith('-as-nobody') && process.getuid?.() === 0) process.setuid?.(65534)
work().then(
  (result) => process.stdout.write(JSON.stringify(result ?? null)),
  (error: unknown) => process.stdout.write(JSON.stringify(KernelError.from(error))),
)

/** A process that uses one file with others: `node writer.fixture.ts <path> <task> <name>`; prints JSON. */
import { KernelError } from '@troupe/kernel'
import { sqliteStore } from './sqlite-store.ts'

const [, , path = '', task = '', name = ''] = process.argv
const ref = { app: 'app', user: 'anna', threadId: 'shared' }

async function work(): Promise<unknown> {
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
  if (task === 'write-as-nobody') return await store.threads.open(ref)
  // Otherwise it takes the lease and waits to be killed.
  await store.threads.open(ref)
  const { token } = await store.leases.acquire(ref, { runId: name, ttlMs: 60_000 })
  await store.threads.commit(ref, { set: { by: name } }, token)
  process.stderr.write('held\n')
  await new Promise((resolve) => setTimeout(resolve, 60_000))
  return undefined
}

// Root may write everywhere, an ordinary user has to obey the rights of files.
if (task === 'write-as-nobody' && process.getuid?.() === 0) process.setuid?.(65534)
work().then(
  (result) => process.stdout.write(JSON.stringify(result ?? null)),
  (error: unknown) => process.stdout.write(JSON.stringify(KernelError.from(error))),
)

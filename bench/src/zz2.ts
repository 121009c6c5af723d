import { mkdtempSync } from 'node:fs'
import { sqliteStore } from '@troupe/store-sqlite'
import { bytesWritten } from './stack/stack-cpu.ts'

const dir = mkdtempSync('/tmp/zz-')
const store = sqliteStore({ path: dir + '/t.db' })
const tot: Record<string, number> = {}
const m = async <T>(name: string, w: () => Promise<T>) => {
  const b = bytesWritten()
  const r = await w()
  tot[name] = (tot[name] ?? 0) + bytesWritten() - b
  return r
}
for (let i = 0; i < 300; i++) {
  const ref = { app: 'a', user: 'u', threadId: 't' + i }
  await m('open', () => store.threads.open(ref))
  const runId = crypto.randomUUID()
  const { token } = await m('acquire', () => store.leases.acquire(ref, { runId, ttlMs: 30000, begins: true }))
  await m('commit', () =>
    store.threads.commit(
      ref,
      {
        messages: [1, 2, 3, 4].map((n) => ({
          runId,
          message: { id: runId + n, role: 'user', content: 'x'.repeat(60) },
        })),
        openCalls: [],
        checkpoint: null,
      },
      token,
    ),
  )
  await m('release', () => store.leases.release(ref, token))
}
for (const [k, v] of Object.entries(tot)) console.log(k, v / 300)
process.exit()

import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { cancels } from './cancels.ts'
import { cutConnections } from './cut-connections.ts'
import { firstEventMs } from './first-event-ms.ts'
import { readersThatNeverRead } from './readers-that-never-read.ts'
import { throughput } from './throughput.ts'

const [, , part = 1] = process.argv
/** The part of the load to run; 1 is all of it. */
const share = Number(part)
const count = (whole: number) => Math.max(1, Math.round(whole * share))
const path = join(tmpdir(), `troupe-load-${process.pid}.db`)
let failed = 0

function print(name: string, figures: object, ok: boolean): void {
  if (!ok) failed++
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`, figures)
}

const bare = await throughput('bare', 20_000, 12)
const memory = await throughput('memory', 20_000, 12)
const sqlite = await throughput('sqlite', 20_000, 12)
const ratio = memory.eventsPerSecond / bare.eventsPerSecond
print('throughput beside a bare server', { bare, memory, sqlite, ratio: Math.round(ratio * 100) / 100 }, ratio >= 0.6)

const first = await firstEventMs(memoryStore(), 200)
print('first event, ms after the kernel’s', first, first.median <= 3)

await using store = sqliteStore({ path })
const stalled = await readersThatNeverRead(store, { runs: count(10_000), stalled: count(200) })
print('readers that never read', stalled, stalled.growthMegabytes < 128)

const cut = await cutConnections(memoryStore(), count(1_000))
print('cuts and resumes', cut, cut.gaps + cut.duplicates === 0)

const after = await cancels(memoryStore(), count(1_000), false)
print('cancels', after, after.slowestMs <= 2_000 && after.badEnds + after.unusable === 0)

const beside = await cancels(memoryStore(), count(500), true)
print('stop, then send', beside, beside.slowestMs <= 2_000 && beside.badEnds + beside.unusable === 0)

for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
process.exitCode = failed > 0 ? 1 : 0

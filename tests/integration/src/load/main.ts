import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore } from '@troupe/kernel/memory-store'
import { sqliteStore } from '@troupe/store-sqlite'
import { cancels } from './cancels.ts'
import { cuts } from './cuts.ts'
import { fuzz } from './fuzz.ts'
import { firstEventMs } from './latency.ts'
import { readersThatNeverRead } from './readers-that-never-read.ts'
import { throughput } from './throughput.ts'

const [, , part = 1] = process.argv
/** 1 is the whole load; a smaller number is a part of it. */
const share = Number(part)
const count = (whole: number) => Math.max(1, Math.round(whole * share))
const path = join(tmpdir(), `troupe-load-${process.pid}.db`)
let failed = 0

function tell(name: string, figures: object, ok: boolean): void {
  if (!ok) failed++
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name}`, figures)
}

const bare = await throughput('bare', 20_000, 12)
const memory = await throughput('memory', 20_000, 12)
const sqlite = await throughput('sqlite', 20_000, 12)
const ratio = memory.eventsPerSecond / bare.eventsPerSecond
tell('throughput beside a bare server', { bare, memory, sqlite, ratio: Math.round(ratio * 100) / 100 }, ratio >= 0.6)

const first = await firstEventMs(memoryStore(), 200)
tell('first event, ms after the kernel’s', first, first.median <= 3)

await using store = sqliteStore({ path })
const stalled = await readersThatNeverRead(store, { runs: count(10_000), stalled: count(200) })
tell('readers that never read', stalled, stalled.growthMegabytes < 128)

const cut = await cuts(memoryStore(), count(1_000))
tell('cuts and resumes', cut, cut.gaps + cut.duplicates === 0)

const after = await cancels(memoryStore(), count(1_000), false)
tell('cancels', after, after.slowestMs <= 2_000 && after.badEnds + after.unusable === 0)

const beside = await cancels(memoryStore(), count(500), true)
tell('stop, then send', beside, beside.slowestMs <= 2_000 && beside.badEnds + beside.unusable === 0)

const fuzzed = await fuzz(memoryStore(), count(50_000))
tell('broken inputs', fuzzed, fuzzed.serverErrors + fuzzed.nameless === 0)

for (const file of [path, `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
process.exitCode = failed > 0 ? 1 : 0

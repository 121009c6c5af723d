/**
 * Measures Troupe beside other frameworks and writes bench/RESULTS.md. See README.md.
 * `--quick` only prints, from short rounds; `--report` writes the file anew from what was measured last; `--storage` measures turns on a
 * SQLite file instead, and writes bench/RESULTS-STORAGE.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPeers, versions } from './src/install-peers.mjs'
import { measureAll } from './src/measure-all.mjs'
import { report } from './src/report.mjs'
import { measureStorage } from './src/storage/measure-storage.mjs'
import { storageReport } from './src/storage/storage-report.mjs'

const here = import.meta.dirname
const quick = process.argv.includes('--quick')
const cache = join(here, 'node_modules/.cache')
const raw = join(cache, quick ? 'quick.json' : 'measured.json')

installPeers()

if (process.argv.includes('--storage')) {
  const measured = measureStorage(quick ? { repetitions: 1, roundMs: 50 } : { repetitions: 3, roundMs: 400 })
  const text = storageReport({ ...measured, versions })
  if (!quick) writeFileSync(join(here, '../RESULTS-STORAGE.md'), text)
  console.log(`\n${text}`)
  process.exit(0)
}

if (!process.argv.includes('--report')) {
  mkdirSync(cache, { recursive: true })
  measureAll({
    ...(quick
      ? { repetitions: 2, times: { warmMs: 50, roundMs: 50 } }
      : { repetitions: 7, times: { warmMs: 200, roundMs: 300 } }),
    save: (measured) => writeFileSync(raw, JSON.stringify(measured)),
  })
}
const text = report({ ...JSON.parse(readFileSync(raw, 'utf8')), versions })
if (!quick) writeFileSync(join(here, '../RESULTS.md'), text)
console.log(`\n${text}`)

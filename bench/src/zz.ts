import { mkdtempSync } from 'node:fs'
import { sqliteStore } from '@troupe/store-sqlite'
import { nextId } from './stack/stack-script.ts'
import { troupeSide } from './stack/troupe-side.ts'

const dir = mkdtempSync('/tmp/zz-')
const store = sqliteStore({ path: dir + '/t.db', synchronous: (process.env.SYNC ?? 'full') as 'full' })
const side = troupeSide(store, { durability: process.argv[2] as 'turn', records: process.argv[3] === 'records' })
const n = 3000
const ids = Array.from({ length: n }, nextId)
for (const id of ids) await side.seed(id, 0)
const c = process.cpuUsage()
for (const id of ids) await side.turn(id)
const d = process.cpuUsage(c)
console.log('cpu ms/turn', (d.user + d.system) / n / 1000)
process.exit()

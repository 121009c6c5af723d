import { postgresStore } from '@troupe/store-postgres'
import { Client, Pool } from 'pg'
import { startPostgres } from '../../packages/store-postgres/src/postgres.fixture.ts'
import { nextId } from './stack/stack-script.ts'
import { troupeSide } from './stack/troupe-side.ts'

await using server = await startPostgres({ durable: true })
const store = postgresStore({ url: server.url, schema: server.schema() })
await store.ready()
const side = troupeSide(store, { durability: process.argv[2] as 'turn' })
for (let i = 0; i < 50; i++) {
  const id = nextId()
  await side.seed(id, 0)
  await side.turn(id)
}
const id = nextId()
await side.seed(id, 0)
await side.turn(id)
const was = Client.prototype.query
let n = 0
;(Client.prototype as any).query = function (...a: any[]) {
  n++
  const t = performance.now()
  const p = (was as any).apply(this, a)
  const text = (a[0].text ?? a[0]).slice(0, 150)
  Promise.resolve(p).then(() => console.log((performance.now() - t).toFixed(2), text))
  return p
}
await side.turn(id)
console.log(n)
process.exit()

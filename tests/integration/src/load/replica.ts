import { agUiServer } from '@troupe/ag-ui/node'
import { postgresStore } from '@troupe/store-postgres'
import { talkerHandler } from './talker.ts'

/** One of several processes on one database; tells its address, and ends when its parent does. */
const [, , url = '', schema = ''] = process.argv
process.on('disconnect', () => process.exit(0))
const store = postgresStore({ url, schema })
// Short limits, so that a process that is gone is missed soon.
const handler = talkerHandler(store, { limits: { lookMs: 300 } }, { leaseMs: 2_000, pollMs: 200 })
process.send?.((await agUiServer(handler)).url)

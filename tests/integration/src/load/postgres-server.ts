import { agUiServer } from '@troupe/ag-ui/node'
import { postgresStore } from '@troupe/store-postgres'
import { loadHandler } from './load-handler.ts'

/** One of several server processes on one PostgreSQL database. It sends its address to its parent, and ends with it. */
const [, , url = '', schema = ''] = process.argv
process.on('disconnect', () => process.exit(0))
const store = postgresStore({ url, schema })
// Short limits, so that other processes notice soon when this one is killed; its model would hang in another process, too.
const options = { limits: { lookMs: 300 }, lostRuns: 'leave' } as const
const handler = loadHandler(store, options, { leaseMs: 2_000, pollMs: 200 })
process.send?.((await agUiServer(handler)).url)

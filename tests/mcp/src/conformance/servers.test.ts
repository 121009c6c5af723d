import { afterAll, expect, it } from 'vitest'
import { conformanceServer } from './conformance-server.ts'
import { REQUIRED, REVISIONS, runSuite } from './run-suite.ts'

/** An answer to a question that nobody has asked is not taken: a person could not have seen it. */
const WARNINGS = { '2025-11-25': [], '2026-07-28': ['sep-2322-ignore-unexpected-params'] }

const server = await conformanceServer()
afterAll(() => server.stop(0))

it.each(REVISIONS)(
  'a server passes every required scenario for servers: %s',
  async (revision) => {
    const results = await runSuite('server', revision, ['--url', server.url])
    const failed = results.filter(({ passed }) => !passed)
    const names = failed.map(({ scenario }) => scenario)
    expect(names, failed.map(({ output }) => output).join('\n')).toEqual([])
    expect(results.flatMap(({ warnings }) => warnings)).toEqual(WARNINGS[revision])
    expect(results).toHaveLength(REQUIRED.server[revision])
  },
  120_000,
)

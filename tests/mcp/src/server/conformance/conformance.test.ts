import { afterAll, describe, expect, it } from 'vitest'
import { conformanceServer, type Revision, requiredOfServers, testServer } from './run-suite.ts'

/** A scenario of each kind; `pnpm test:mcp` runs them all. */
const SOME: readonly (readonly [Revision, string])[] = [
  ['2025-11-25', 'server-initialize'],
  ['2025-11-25', 'tools-call-elicitation'],
  ['2025-11-25', 'dns-rebinding-protection'],
  ['2026-07-28', 'server-stateless'],
  ['2026-07-28', 'tools-call-with-progress'],
  ['2026-07-28', 'input-required-result-multi-round'],
  ['2026-07-28', 'input-required-result-tampered-state'],
]
const server = await conformanceServer()
afterAll(() => server.stop(0))

describe('the official conformance suite for servers', () => {
  it.each(SOME)('%s: %s', async (revision, scenario) => {
    const { passed, output } = await testServer(server.url, scenario, revision)
    expect(passed, output).toBe(true)
  })

  it('requires scenarios of both generations', async () => {
    expect(await requiredOfServers('2025-11-25')).toHaveLength(30)
    expect(await requiredOfServers('2026-07-28')).toHaveLength(37)
  })
})

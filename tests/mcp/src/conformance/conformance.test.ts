import { describe, expect, it, vi } from 'vitest'
import { type Revision, requiredOfClients, testClient } from './conformance.ts'

// Each test starts processes, which takes longer on a busy machine.
vi.setConfig({ testTimeout: 60_000 })

/** A scenario of each kind; `pnpm test:mcp` runs them all. */
const SOME: readonly (readonly [Revision, string])[] = [
  ['2025-11-25', 'initialize'],
  ['2025-11-25', 'elicitation-sep1034-client-defaults'],
  ['2026-07-28', 'request-metadata'],
  ['2026-07-28', 'sep-2322-client-request-state'],
  ['2026-07-28', 'auth/basic-cimd'],
]

describe('the official conformance suite for clients', () => {
  it.each(SOME)('%s: %s', async (revision, scenario) => {
    const { passed, output } = await testClient(scenario, revision)
    expect(passed, output).toBe(true)
  })

  it('requires scenarios of both generations', async () => {
    expect(await requiredOfClients('2025-11-25')).toHaveLength(18)
    expect(await requiredOfClients('2026-07-28')).toHaveLength(32)
  })
})

import { afterAll, expect, it } from 'vitest'
import { clientService } from './client-service.ts'
import { REQUIRED, REVISIONS, runSuite } from './run-suite.ts'

const service = await clientService()
afterAll(() => service[Symbol.asyncDispose]())

it.each(REVISIONS)(
  'an agent passes every required scenario for clients: %s',
  async (revision) => {
    const results = await runSuite('client', revision, ['--command', service.command])
    const failed = results.filter(({ passed }) => !passed)
    const names = failed.map(({ scenario }) => scenario)
    expect(names, failed.map(({ output }) => output).join('\n')).toEqual([])
    expect(results.flatMap(({ warnings }) => warnings)).toEqual([])
    expect(results).toHaveLength(REQUIRED.client[revision])
  },
  120_000,
)

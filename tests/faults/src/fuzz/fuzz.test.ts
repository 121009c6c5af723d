import { expect, test } from 'vitest'
import { fuzz } from './fuzz.ts'
import { fuzzReport } from './fuzz-report.ts'

test('random and broken requests are refused or answered, in time, and leave the servers as they were', async () => {
  const figures = await fuzz(2_000, 1_000)
  console.log(fuzzReport({ ...figures, failures: [] }))
  expect(figures.failures).toEqual([])
  expect(figures.statuses.get(200)).toBeGreaterThan(200)
  expect(figures.statuses.get(400)).toBeGreaterThan(200)
})

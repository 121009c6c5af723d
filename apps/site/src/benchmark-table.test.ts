import { expect, it } from 'vitest'
import { fillBenchmarks } from './benchmark-table.ts'
import { read } from './repository.ts'

it('shows the rows that a page names, in its order', () => {
  const filled = fillBenchmarks(
    'Before\n\n<!-- benchmarks: installed size; one turn, invoke -->\n\nAfter',
    read('bench/RESULTS.md'),
  )
  const [before, table = '', after] = filled.split('\n\n')
  expect([before, after]).toEqual(['Before', 'After'])
  expect(table.split('\n').map((row) => row.split(' | ')[0])).toEqual([
    '| workload',
    '| ---',
    '| installed size',
    '| one turn, invoke',
  ])
})

it('refuses a row that the results do not have', () => {
  expect(() => fillBenchmarks('<!-- benchmarks: speed -->', read('bench/RESULTS.md'))).toThrow('no row "speed"')
})

import { expect, it } from 'vitest'
import { fillBenchmarks } from './benchmark-table.ts'
import { sectionOf } from './markdown.ts'
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

it('the home page counts the budgets that are not held as the results do', () => {
  const budgets = sectionOf(read('bench/RESULTS.md'), 'budgets')
    .split('\n')
    .filter((line) => /held/.test(line))
    .slice(1)
  const missed = budgets.filter((row) => row.includes('**not held**'))
  expect([missed.length, budgets.length]).toEqual([4, 12])
  expect(read('apps/site/pages/index.md').replaceAll('\n', ' ')).toContain(
    'Of our own twelve budgets, four are not held',
  )
})

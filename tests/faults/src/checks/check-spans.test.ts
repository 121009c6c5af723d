import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { say } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'
import { afterAll, expect, test } from 'vitest'
import { CaseSpans, type SpanLine, spanFileOf } from '../conversation/case-spans.ts'
import { checkSpans } from './check-spans.ts'
import { Findings } from './findings.ts'

const folder = mkdtempSync(join(tmpdir(), 'troupe-spans-'))
afterAll(() => rmSync(folder, { recursive: true }))

let files = 0
const newFile = () => join(folder, `${++files}`)

/** What is found, without what was seen instead. */
function found(effects: string): readonly string[] {
  const findings = new Findings()
  checkSpans(findings, effects)
  return findings.violations.map((violation) => violation.split('; seen')[0] ?? '')
}

test('a span is complained about as long as it has not ended', async () => {
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const { promise: wait, resolve: go } = Promise.withResolvers<void>()
  const agent = {
    name: 'guide',
    description: '',
    async *run(_: unknown, ctx: Parameters<typeof say>[0]) {
      begin()
      await wait
      yield* say(ctx, 'Done.')
    },
  }
  const effects = newFile()
  const spans = new CaseSpans(effects)
  const run = Promise.resolve(startRun(agent, 'Hi', { callbacks: [spans.tracing] }))
  await begun
  spans.close()
  expect(found(effects)).toEqual(['each span begins below the right one and ends once'])
  go()
  await run
  const later = newFile()
  const all = new CaseSpans(later)
  await startRun(agent, 'Hi', { callbacks: [all.tracing] })
  all.close()
  expect(found(later)).toEqual([])
})

test.each<[string, readonly SpanLine[], readonly string[]]>([
  [
    'no process tells of its spans',
    [{ runId: 'r1', threadId: 't1', spanId: 's1' }],
    ['a process that lived tells of its spans'],
  ],
  [
    'a run goes on from one of another thread, and one from none that there was',
    [
      { runId: 'r1', threadId: 't1', spanId: 's1' },
      { runId: 'r1', threadId: 't1', spanId: 's2', outer: 's1' },
      { runId: 'r2', threadId: 't2', spanId: 's3', outer: 's1' },
      { runId: 'r3', threadId: 't1', spanId: 's4', outer: 's0' },
      { spans: 4, wrong: [] },
    ],
    ['r2: its span goes on from a run of its thread', 'r3: its span goes on from a run of its thread'],
  ],
])('%s', (_, lines, violations) => {
  const effects = newFile()
  for (const line of lines) appendFileSync(spanFileOf(effects), `${JSON.stringify(line)}\n`)
  expect(found(effects)).toEqual(violations)
})

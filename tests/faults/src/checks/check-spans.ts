import { readFileSync } from 'node:fs'
import { type SpanLine, spanFileOf } from '../conversation/case-spans.ts'
import type { Findings } from './findings.ts'

/**
 * Checks the spans of all processes of a case; `effects` is the file for the effects of tools.
 * Contract: the spans of a process that was killed cannot end. Of it only what goes on from its runs is checked; returns how many do.
 */
export function checkSpans(findings: Findings, effects: string): number {
  const lines = readFileSync(spanFileOf(effects), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as SpanLine)
  const closed = lines.flatMap((line) => ('wrong' in line ? [line] : []))
  findings.check('a process that lived tells of its spans', closed.length > 0)
  for (const { wrong } of closed) {
    findings.check('each span begins below the right one and ends once', wrong.length === 0, wrong)
  }
  const roots = lines.flatMap((line) => ('spanId' in line ? [line] : []))
  const bySpan = new Map(roots.map((root) => [root.spanId, root]))
  const linked = roots.filter(({ outer }) => outer !== undefined)
  for (const { runId, threadId, outer = '' } of linked) {
    const before = bySpan.get(outer)
    findings.check(`${runId}: its span goes on from a run of its thread`, before?.threadId === threadId, before)
  }
  return linked.length
}

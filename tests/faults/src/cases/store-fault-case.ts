import { readFileSync } from 'node:fs'
import type { KernelError } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { checkEndings } from '../checks/invariants.ts'
import { snapshot } from '../checks/snapshot.ts'
import { scriptsFor } from '../conversation/bookkeeper.ts'
import { Caller } from '../conversation/caller.ts'
import { type Line, promisedIn } from '../conversation/case-event.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import { faultsOf, StoreFault } from '../store/store-fault.ts'
import { watchedStore } from '../store/watched-store.ts'
import type { Measure } from '../worker/baseline.ts'
import { REF } from '../worker/worker-task.ts'
import { goOn } from './recover.ts'

/** How long a run may take, and what it does with its thread. */
const LIMITS = { runMs: 1_500, queueMs: 1_500 }
/** A run that was stopped has ten seconds to end and ten to let its thread go. */
const LONGEST_MS = LIMITS.runMs + LIMITS.queueMs + 25_000
const WRITE = { delayMs: 10, timeoutMs: 1_000, retryMs: 10, maxRetryMs: 100, flushMs: 15_000 }
const TURNS = 4

/** Talks to an agent on a store that fails, hangs or slows down, and looks at what is left when it is well again. */
export function storeFaultCase(
  databases: Databases,
  kind: StoreKind,
  seed: number,
  whole: Measure,
): Promise<CaseResult> {
  return databases.within(kind, `fault-${seed}`, async ({ place, effects: file }) => {
    const findings = new Findings()
    const random = seeded(seed)
    const kinds = faultsOf(kind)
    const share = { calls: whole.calls * (TURNS / 7), statements: whole.statements * (TURNS / 7) }
    const cutOff = (backend: number) => databases.cutOff(backend)
    const fault = new StoreFault(kinds[seed % kinds.length] as (typeof kinds)[number], place, random, share, cutOff)
    const effects = new Effects(file)
    const reports: string[] = []
    const report = ({ code }: KernelError) => void reports.push(code)
    const lines: Line[] = []
    {
      const onStatement = (sql: string, backend: number) => fault.statement(sql, backend)
      await using bare = await openStore(place, { patienceMs: 400, ...(kind === 'postgres' && { onStatement }) })
      const store = watchedStore(bare, (name, perform) => fault.call(name, perform))
      await using messages = messageLifecycle({ store, report, write: WRITE })
      const callbacks = [messages, toolLifecycle({ messages })]
      const tell = (line: Line) => void lines.push(line)
      const caller = new Caller({ store, ref: REF, effects, callbacks, name: 'w', tell, report, limits: LIMITS })
      for (const script of scriptsFor(seed).slice(0, TURNS)) await inTime(findings, caller.play(script))
      await fault.end()
      const flushed = await messages.flush().then(() => undefined, String)
      findings.check('the records are written when the store is back', flushed === undefined, flushed)
      checkEndings(findings, await snapshot(bare, REF, []), lines)
    }
    checkCodes(findings, lines, reports)
    const degraded = reports.filter((code) => code === 'RECORDS_DEGRADED').length
    if (fault.kind === 'is down') findings.check('an outage is reported once at most', degraded <= 1, reports)
    const after = await goOn({ place, ref: REF, effects, lines, random, findings })
    const failed = lines.filter((line) => line.type === 'refused' || (line.type === 'ended' && line.error)).length
    const acknowledged = promisedIn(lines).length
    const hit = fault.hits.length > 0 ? 1 : 0
    return {
      findings,
      hits: hit ? [fault.kind] : [],
      counts: { faults: hit, strikes: fault.hits.length, failed, degraded, acknowledged, ...after },
    }
  })
}

/** A run may fail; it may not go on for ever. */
async function inTime(findings: Findings, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, LONGEST_MS, 'late')
  })
  const how = await Promise.race([work, late])
  clearTimeout(timer)
  findings.check(`a turn has ended within ${LONGEST_MS} ms`, how !== 'late')
}

const DOCUMENTED: ReadonlySet<string> = new Set(
  [...readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8').matchAll(/^\| `([A-Z_]+)`/gm)].map(
    ([, code]) => code as string,
  ),
)

function checkCodes(findings: Findings, lines: readonly Line[], reports: readonly string[]): void {
  const codes = lines.flatMap((line) => {
    if (line.type === 'refused') return [line.code]
    return line.type === 'ended' && line.error ? [line.error.code] : []
  })
  for (const code of [...codes, ...reports])
    findings.check('an error has a documented code', DOCUMENTED.has(code), code)
}

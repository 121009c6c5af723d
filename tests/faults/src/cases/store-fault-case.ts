import { readFileSync } from 'node:fs'
import type { KernelError } from '@troupe/kernel'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import type { CaseResult } from '../campaign-result.ts'
import { Findings } from '../checks/findings.ts'
import { checkOutcomes } from '../checks/invariants.ts'
import { snapshot } from '../checks/snapshot.ts'
import { scriptsFor } from '../conversation/bookkeeper.ts'
import { Caller } from '../conversation/caller.ts'
import { acknowledgedIn, type CaseEvent } from '../conversation/case-event.ts'
import { CaseSpans } from '../conversation/case-spans.ts'
import { Effects } from '../conversation/effects.ts'
import { seeded } from '../random.ts'
import type { Databases } from '../store/databases.ts'
import { openStore, type StoreKind } from '../store/open-store.ts'
import { faultsOf, StoreFault } from '../store/store-fault.ts'
import { watchedStore } from '../store/watched-store.ts'
import type { Baseline } from '../worker/baseline.ts'
import { REF } from '../worker/worker-task.ts'
import { recover } from './recover.ts'

/** How long a run may take, and how long it may wait for its thread. */
const LIMITS = { runMs: 1_500, queueMs: 1_500 }
/** A cancelled run has ten seconds to end and ten to release its thread. */
const LONGEST_MS = LIMITS.runMs + LIMITS.queueMs + 25_000
const WRITE = { delayMs: 10, timeoutMs: 1_000, retryMs: 10, maxRetryMs: 100, flushMs: 15_000 }
const TURNS = 4

/** Talks to an agent on a store that fails, hangs or slows down, and checks what is left when the store works again. */
export function storeFaultCase(
  databases: Databases,
  kind: StoreKind,
  seed: number,
  baseline: Baseline,
): Promise<CaseResult> {
  return databases.withStorage(kind, `fault-${seed}`, async ({ address, effects: file }) => {
    const findings = new Findings()
    const random = seeded(seed)
    const kinds = faultsOf(kind)
    const share = { calls: baseline.calls * (TURNS / 7), statements: baseline.statements * (TURNS / 7) }
    const terminate = (backend: number) => databases.terminate(backend)
    const fault = new StoreFault(
      kinds[seed % kinds.length] as (typeof kinds)[number],
      address,
      random,
      share,
      terminate,
    )
    const effects = new Effects(file)
    const reports: string[] = []
    const report = ({ code }: KernelError) => void reports.push(code)
    const events: CaseEvent[] = []
    {
      const onStatement = (sql: string, backend: number) => fault.statement(sql, backend)
      await using bare = await openStore(address, { busyTimeoutMs: 400, ...(kind === 'postgres' && { onStatement }) })
      const store = watchedStore(bare, (name, perform) => fault.call(name, perform))
      await using messages = messageLifecycle({ store, report, write: WRITE })
      const callbacks = [messages, toolLifecycle({ messages })]
      const record = (event: CaseEvent) => void events.push(event)
      const spans = new CaseSpans(file)
      const parts = { store, ref: REF, effects, callbacks, spans }
      const caller = new Caller({ ...parts, name: 'w', record, report, limits: LIMITS })
      for (const script of scriptsFor(seed).slice(0, TURNS)) await inTime(findings, caller.converse(script))
      await fault.end()
      const flushed = await messages.flush().then(() => undefined, String)
      findings.check('the records are written when the store is back', flushed === undefined, flushed)
      checkOutcomes(findings, await snapshot(bare, REF, []), events)
      spans.close()
    }
    checkCodes(findings, events, reports)
    const degraded = reports.filter((code) => code === 'RECORDS_DEGRADED').length
    if (fault.kind === 'is down') findings.check('an outage is reported once at most', degraded <= 1, reports)
    const after = await recover({ address, ref: REF, effects, events, random, findings })
    const failed = events.filter((event) => event.type === 'refused' || (event.type === 'ended' && event.error)).length
    const acknowledged = acknowledgedIn(events).length
    const hit = fault.hits.length > 0 ? 1 : 0
    return {
      findings,
      hits: hit ? [fault.kind] : [],
      counts: { faults: hit, strikes: fault.hits.length, failed, degraded, acknowledged, ...after },
    }
  })
}

/** Checks that a conversation ends: a run may fail, but it may not go on for ever. */
async function inTime(findings: Findings, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(resolve, LONGEST_MS, 'late')
  })
  const result = await Promise.race([work, late])
  clearTimeout(timer)
  findings.check(`a turn has ended within ${LONGEST_MS} ms`, result !== 'late')
}

const DOCUMENTED: ReadonlySet<string> = new Set(
  [...readFileSync(new URL('../../../../docs/errors.md', import.meta.url), 'utf8').matchAll(/^\| `([A-Z_]+)`/gm)].map(
    ([, code]) => code as string,
  ),
)

function checkCodes(findings: Findings, events: readonly CaseEvent[], reports: readonly string[]): void {
  const codes = events.flatMap((event) => {
    if (event.type === 'refused') return [event.code]
    return event.type === 'ended' && event.error ? [event.error.code] : []
  })
  for (const code of [...codes, ...reports])
    findings.check('an error has a documented code', DOCUMENTED.has(code), code)
}

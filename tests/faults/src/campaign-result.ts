import type { Findings } from './checks/findings.ts'
import type { StoreKind } from './store/open-store.ts'

/** The result of one case. */
export interface CaseResult {
  readonly findings: Findings
  /** Where the fault hit. */
  readonly hits: readonly string[]
  readonly counts: { readonly [what: string]: number }
  /** Of these the most of all cases is kept. */
  readonly most?: { readonly [what: string]: number }
}

/** The results of all cases of one kind on one store. */
export class CampaignResult {
  readonly campaign: string
  readonly kind: StoreKind
  readonly counts: Map<string, number> = new Map()
  readonly hits: Map<string, number> = new Map()
  /** Each with the command that repeats it. */
  readonly failures: string[] = []
  cases = 0
  checked = 0
  ms = 0

  constructor(campaign: string, kind: StoreKind) {
    this.campaign = campaign
    this.kind = kind
  }

  add(seed: number, { findings, hits, counts, most = {} }: CaseResult): void {
    this.cases++
    this.checked += findings.checked
    for (const [what, count] of Object.entries(counts)) increase(this.counts, what, count)
    for (const [what, count] of Object.entries(most)) {
      this.counts.set(what, Math.max(this.counts.get(what) ?? 0, Math.round(count)))
    }
    for (const hit of hits) increase(this.hits, hit, 1)
    for (const violation of findings.violations) this.fail(seed, violation)
  }

  fail(seed: number, what: string): void {
    const command = `SEED=${seed} pnpm test:faults ${this.campaign} ${this.kind}`
    this.failures.push(`${what.slice(0, 2_000)}\n    repeat: ${command}`)
  }
}

function increase(counts: Map<string, number>, what: string, by: number): void {
  counts.set(what, (counts.get(what) ?? 0) + by)
}

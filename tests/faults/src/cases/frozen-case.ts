import type { CaseResult } from '../campaign-result.ts'
export async function frozenCase(): Promise<CaseResult> { throw new Error('not yet') }

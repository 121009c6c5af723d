import type { CaseResult } from '../campaign-result.ts'
export async function rollingCase(): Promise<CaseResult> { throw new Error('not yet') }

import type { CaseResult } from '../campaign-result.ts'
export async function clockCase(): Promise<CaseResult> { throw new Error('not yet') }

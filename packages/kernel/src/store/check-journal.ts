import type { Json } from '../data/json.ts'
import { checkId } from './check-id.ts'
import { checkList, looksLikeJson, malformed } from './check-value.ts'

/** Checks entries of the journal of a run. Contract: entries are JSON by their type and are not walked. */
export function checkJournal(who: string, runId: string, entries: readonly Json[]): void {
  checkId(who, 'runId', runId)
  checkList(who, 'journal entries', entries)
  for (const entry of entries) if (!looksLikeJson(entry)) throw malformed(who, 'a journal entry of plain JSON', entry)
}

export { checkBlob } from './store/check-blob.ts'
export { checkCommands, runIdOf } from './store/check-commands.ts'
export { checkCommit } from './store/check-commit.ts'
export { checkCounts, MAX_COUNTS } from './store/check-counts.ts'
export { checkFact, checkFactSearch, checkForget, checkNear, MAX_FACT, MAX_FACTS } from './store/check-fact.ts'
export { checkFork } from './store/check-fork.ts'
export { checkGrant, checkGrantQuery, MAX_GRANTS } from './store/check-grant.ts'
export { checkId } from './store/check-id.ts'
export { checkJournal } from './store/check-journal.ts'
export { checkLabel, checkRecent, MAX_METADATA, MAX_TITLE } from './store/check-label.ts'
export { checkCancel, checkHolder, checkTtl } from './store/check-lease.ts'
export { checkIdle, checkKnown, checkMaintenance, checkPage, checkProcessed } from './store/check-page.ts'
export { checkOwner, checkRef } from './store/check-ref.ts'
export { checkAppend, checkCompact, checkFollow, checkPrune } from './store/check-run-log.ts'
export { commandEffect } from './store/command-effect.ts'
export { type CommitEffect, commitEffect, type StateChange, stateAfter } from './store/commit-effect.ts'
export { factTerms, searchTerms } from './store/fact-terms.ts'
export { isWaiting } from './store/is-waiting.ts'
export { jsonText } from './store/json-text.ts'
export { CANCEL_MODES, harderCancel, holdsLease, isLive, lostCall, lostRun } from './store/lease.ts'
export { nearestFacts, rankFacts } from './store/rank-facts.ts'
export {
  journalNotFound,
  leaseLost,
  logConflict,
  logNotFound,
  messageNotFound,
  runIdTaken,
  storeClosed,
  threadBusy,
  threadIdTaken,
  threadNotFound,
} from './store/refusals.ts'
export { runIdsAbove } from './store/run-ids-above.ts'
export { usageOf } from './store/usage-of.ts'

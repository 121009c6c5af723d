import { runIdsAbove, runIdTaken } from '@troupe/kernel/store'
import { sql } from 'kysely'
import { toColumn } from './column-text.ts'
import { compiled, type Slots, sure } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'

/** The thread of an id that no run has, but one below it: the row is what runs below and above it wait for. */
const NO_THREAD = ''

/** Claims the id of a run that begins, and says whether no run had it. */
type ClaimId = (tx: Queries, owner: number, runId: string, thread: string) => Promise<boolean>

/** Makes the function that claims run ids. Contract: throws `RUN_ID_TAKEN` if a run of another thread has the id, or any run one above or below it. */
export function runIdClaims({ who, engine }: SqlDatabase): ClaimId {
  const add = compiled((db, row: Slots<Tables['troupe_run_ids']>) =>
    db
      .insertInto('troupe_run_ids')
      .values(row)
      .onConflict((conflict) => conflict.columns(['owner', 'run_id']).doNothing())
      .returning('thread_id'),
  )
  const lock = compiled((db, { owner, run_id }: Slots<Pick<Tables['troupe_run_ids'], 'owner' | 'run_id'>>) =>
    locked(
      engine,
      db
        .selectFrom('troupe_run_ids as t')
        .select('t.thread_id')
        .where('t.owner', '=', owner)
        .where('t.run_id', '=', run_id),
    ),
  )
  const take = compiled((db, { owner, run_id, thread_id }: Slots<Tables['troupe_run_ids']>) =>
    db.updateTable('troupe_run_ids').set({ thread_id }).where('owner', '=', owner).where('run_id', '=', run_id),
  )
  const runsWith = compiled((db, { owner, ids }: Slots<{ owner: number; ids: readonly string[] }>) =>
    db
      .selectFrom('troupe_run_ids')
      .select('run_id')
      .where('owner', '=', owner)
      .where('run_id', 'in', ids)
      .where('thread_id', '<>', NO_THREAD)
      .limit(1),
  )
  // By bytes, whatever order the database has for texts.
  const bytes = engine.flavour === 'sqlite' ? sql<string>`run_id` : sql<string>`run_id collate "C"`
  const runsBetween = compiled((db, { owner, from, to }: Slots<{ owner: number; from: string; to: string }>) =>
    db
      .selectFrom('troupe_run_ids')
      .select('run_id')
      .where('owner', '=', owner)
      .where(bytes, '>=', from)
      .where(bytes, '<', to)
      .where('thread_id', '<>', NO_THREAD)
      .limit(1),
  )
  const hasAbove = async (tx: Queries, owner: number, above: readonly string[]) => {
    for (const ids of statements(above.map(toColumn))) if ((await runsWith(tx, { owner, ids })).length > 0) return true
    return false
  }
  const hasBelow = async (tx: Queries, owner: number, runId: string) => {
    for (const start of columnStarts(runId)) {
      // The sign after the slash ends the range.
      const found = await runsBetween(tx, { owner, from: `${start}/`, to: `${start}0` })
      if (found.length > 0) return true
    }
    return false
  }

  /** Waits for runs below the outermost id. Contract: throws if a run has one of the ids above. */
  const lockAbove = async (tx: Queries, owner: number, runId: string, outermost: string) => {
    const run_id = toColumn(outermost)
    await add(tx, { owner, run_id, thread_id: NO_THREAD })
    await lock(tx, { owner, run_id })
    if (await hasAbove(tx, owner, runIdsAbove(runId))) throw runIdTaken(who, runId)
  }

  /** The thread of the run that has an id; none if no run has begun with it, and undefined if it is claimed just now. */
  const claim = async (tx: Queries, row: Tables['troupe_run_ids']): Promise<string | undefined> => {
    const [added] = await add(tx, row)
    return added ? undefined : sure(await lock(tx, { owner: row.owner, run_id: row.run_id })).thread_id
  }

  return async (tx, owner, runId, thread_id) => {
    const row = { owner, run_id: toColumn(runId), thread_id }
    const [outermost] = runIdsAbove(runId)
    if (outermost !== undefined) await lockAbove(tx, owner, runId, outermost)
    const former = await claim(tx, row)
    if (![undefined, NO_THREAD, thread_id].includes(former)) throw runIdTaken(who, runId)
    // Nothing has begun below an id without a slash that no run had, or that this thread has already.
    const looksBelow = outermost !== undefined || former === NO_THREAD
    if (looksBelow && (await hasBelow(tx, owner, runId))) throw runIdTaken(who, runId)
    if (former === NO_THREAD) await take(tx, row)
    return former !== thread_id
  }
}

/** How a text that begins like this may begin in a column: as it is, or escaped because of what follows. */
function columnStarts(text: string): readonly string[] {
  const column = toColumn(text)
  const escaped = `\u0001${JSON.stringify(text).slice(0, -1)}`
  return column === text ? [text, escaped] : [escaped]
}

import type { Grant, GrantStore } from '@troupe/kernel'
import { checkGrant, checkGrantQuery, checkId, MAX_GRANTS, threadNotFound } from '@troupe/kernel/store'
import { fromColumn, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import type { SqlDatabase } from './open-database.ts'
import { ownerKeys, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import { threadAdder } from './thread-adder.ts'
import { ownerKey, type ThreadKey } from './thread-key.ts'

type OwnerKey = Omit<ThreadKey, 'threadId'>
type GrantRow = Omit<Tables['troupe_grants'], 'id'>

/** Grants in SQL. */
export function sqlGrants({ who, engine, query, write }: SqlDatabase): GrantStore {
  const ownerId = ownerKeys()
  const { lockOwner } = threadAdder(engine)
  const findThread = compiled((db, key: Slots<ThreadKey>) => threadOf(db, key).select('t.id'))
  const ofOwner = compiled((db, key: Slots<OwnerKey>) => grantsOf(db, key))
  const ofThread = compiled((db, key: Slots<ThreadKey>) =>
    grantsOf(db, key).where(({ or, eb }) => or([eb('g.thread', 'is', null), eb('t.thread_id', '=', key.threadId)])),
  )
  const ofTool = compiled((db, { owner, agent, tool }: Slots<Pick<GrantRow, 'owner' | 'agent' | 'tool'>>) =>
    db
      .selectFrom('troupe_grants')
      .select(['thread', 'rule'])
      .where('owner', '=', owner)
      .where('tool', '=', tool)
      .where('agent', '=', agent),
  )
  const insert = compiled((db, row: Slots<GrantRow>) => db.insertInto('troupe_grants').values(row))
  const tooOld = compiled((db, { owner }: Slots<{ owner: number }>) =>
    db
      .selectFrom('troupe_grants')
      .select('id')
      .where('owner', '=', owner)
      .orderBy('id', 'desc')
      .offset(MAX_GRANTS)
      .limit(1),
  )
  const remove = compiled((db, { id, ...key }: Slots<OwnerKey & { id: number }>) =>
    db
      .deleteFrom('troupe_grants')
      .where('id', '=', id)
      .where('owner', '=', ownerOf(db, key).select('o.id'))
      .returning('id'),
  )

  return {
    async list(owner, where = {}) {
      const key = ownerKey(who, owner)
      checkGrantQuery(who, where)
      const { threadId } = where
      const rows = await query((db) =>
        threadId === undefined ? ofOwner(db, key) : ofThread(db, { ...key, threadId: toColumn(threadId) }),
      )
      return rows.map(view)
    },

    async add(given, grant) {
      const key = ownerKey(who, given)
      checkGrant(who, grant)
      const { threadId, rule } = grant
      const columns = {
        agent: toColumn(grant.agent),
        tool: toColumn(grant.tool),
        rule: rule === undefined ? null : toColumn(rule),
        at: grant.at,
      }
      await write(async (tx) => {
        const owner = await ownerId(tx, key)
        // The same grant is not added twice at once, and no thread of the owner is deleted meanwhile.
        await lockOwner(tx, owner)
        let thread: number | null = null
        if (threadId !== undefined) {
          const [found] = await findThread(tx, { ...key, threadId: toColumn(threadId) })
          if (!found) throw threadNotFound(who, threadId)
          thread = found.id
        }
        const known = await ofTool(tx, { owner, agent: columns.agent, tool: columns.tool })
        if (known.some((one) => one.thread === thread && one.rule === columns.rule)) return
        await insert(tx, { owner, thread, ...columns })
        const [old] = await tooOld(tx, { owner })
        if (old) await tx.deleteFrom('troupe_grants').where('owner', '=', owner).where('id', '<=', old.id).execute()
      })
    },

    async revoke(owner, id) {
      const key = ownerKey(who, owner)
      checkId(who, 'id', id)
      const number = Number(id)
      // Only the text that `list` gives.
      if (!Number.isSafeInteger(number) || String(number) !== id) return false
      return (await query((db) => remove(db, { ...key, id: number }))).length > 0
    },
  }
}

function grantsOf(db: Queries, key: Parameters<typeof ownerOf>[1]) {
  return ownerOf(db, key)
    .innerJoin('troupe_grants as g', 'g.owner', 'o.id')
    .leftJoin('troupe_threads as t', 't.id', 'g.thread')
    .select(['g.id', 'g.agent', 'g.tool', 'g.rule', 'g.at', 't.thread_id'])
    .orderBy('g.id')
}

/** A grant as callers see it. */
function view({
  id,
  agent,
  tool,
  rule,
  at,
  thread_id,
}: Awaited<ReturnType<ReturnType<typeof grantsOf>['execute']>>[number]): Grant {
  return {
    id: String(id),
    agent: fromColumn(agent),
    tool: fromColumn(tool),
    ...(thread_id !== null && { threadId: fromColumn(thread_id) }),
    ...(rule !== null && { rule: fromColumn(rule) }),
    at,
  }
}

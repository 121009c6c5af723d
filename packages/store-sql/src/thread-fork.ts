import type { ForkPoint, ThreadRef, ThreadStore } from '@troupe/kernel'
import {
  checkFork,
  holdsLease,
  leaseLost,
  messageNotFound,
  stateAfter,
  threadIdTaken,
  threadNotFound,
} from '@troupe/kernel/store'
import { sql } from 'kysely'
import { changeReader, changeWriter } from './change-rows.ts'
import { fromJson, toColumn } from './column-text.ts'
import { compiled, type Slots } from './compiled.ts'
import type { Queries } from './engine.ts'
import { leaseLocker } from './lease-locker.ts'
import { type LeaseTime, leaseTime } from './lease-time.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, ownerOf, threadOf } from './rows.ts'
import type { Tables } from './schema.ts'
import type { LockedOwner, NewThread, ThreadAdder } from './thread-adder.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'
import { messageFinder, type Segment, segmentReader } from './thread-path.ts'

/**
 * Makes branches of threads, under a name of their own or under that of the thread.
 * Contract: no message is copied. Only what counts for the last shared message is, because its thread may still add to it.
 */
export function threadFork(database: SqlDatabase, adder: ThreadAdder, view: ViewOf): Pick<ThreadStore, 'fork' | 'cut'> {
  const { who, engine, now, write } = database
  const [findMessages, segmentsOf] = [messageFinder(), segmentReader()]
  const [changesOf, addChanges, copyProcessed] = [changeReader(), changeWriter(), processedCopier()]
  const [isTaken, lockLease, rename] = [takenCheck(leaseTime(database)), leaseLocker(database), threadRenamer()]
  const lockThread = compiled((db, key: Slots<ThreadKey>) => locked(engine, threadOf(db, key).select('t.id')))
  const findOwner = compiled((db, key: Slots<ThreadKey>) => ownerOf(db, key).select('o.id'))
  const findThread = compiled((db, key: Slots<ThreadKey>) =>
    threadOf(db, key).select(['t.id', 't.base', 't.title', 't.metadata']),
  )
  const idAt = compiled((db, { source, seq }: Slots<{ source: number; seq: number }>) =>
    db.selectFrom('troupe_messages').select('message_id').where('thread', '=', source).where('seq', '=', seq),
  )

  /** Finds a thread and the sequence of the last message that its branch has; 0 if it has none. */
  const findCut = async (tx: Queries, key: ThreadKey, ref: ThreadRef, { at, before = '' }: ForkPoint) => {
    const [source] = await findThread(tx, key)
    if (!source) throw threadNotFound(who, ref.threadId)
    const messageId = at ?? before
    const [message] = await findMessages(tx, { thread: source.id, ids: [toColumn(messageId)] })
    if (!message) throw messageNotFound(who, messageId)
    return { source, cut: at === undefined ? message.seq - 1 : message.seq }
  }

  /** Adds a branch with everything that it has of its source. */
  const addBranch = async (tx: Queries, owner: LockedOwner, { source, cut }: Cut, name: BranchName) => {
    const segments = await segmentsOf(tx, { thread: source.id })
    const shared = sharedUpTo(segments, cut)
    const end = shared.at(-1)
    const [last] = end ? await idAt(tx, { source: end.source, seq: cut }) : []
    const changes = await changesOf(tx, { thread: source.id, upTo: cut })
    const state = JSON.stringify(stateAfter(fromJson(source.base ?? '{}'), changes))
    const { base, title, metadata } = source
    const row = { ...name, title, metadata, state, base, message_seq: cut, forked_at: last?.message_id ?? null }
    const branch = await adder.add(tx, owner, row, shared)
    const recent = changes.filter(({ seq }) => seq === cut)
    await addChanges(tx, branch, recent)
    const holder = segments.find(({ after, upto }) => after <= cut && cut < upto)
    if (holder) await copyProcessed(tx, { branch, source: holder.source, seq: cut })
  }

  /** Finds the cut of a thread whose owner is locked. Contract: `to` is free. */
  const prepare = async (tx: Queries, owner: LockedOwner, key: ThreadKey, ref: ThreadRef, request: ForkRequest) => {
    const cut = await findCut(tx, key, ref, request)
    const to = { ...key, threadId: toColumn(request.to) }
    if (await isTaken(tx, owner.id, to)) throw threadIdTaken(who, request.to)
    return { cut, to }
  }

  return {
    async fork(ref, request) {
      const key = threadKey(who, ref)
      checkFork(who, request)
      return write(async (tx) => {
        const [found] = await findOwner(tx, key)
        if (!found) throw threadNotFound(who, ref.threadId)
        // No thread of the owner is deleted meanwhile, so the parts of the source stay where they are.
        const owner = await adder.lockOwner(tx, found.id)
        const { cut, to } = await prepare(tx, owner, key, ref, request)
        await addBranch(tx, owner, cut, { thread_id: to.threadId, forked_from: key.threadId, updated_at: now() })
        return view(tx, to)
      })
    },

    async cut(ref, request, token) {
      const key = threadKey(who, ref)
      checkFork(who, request)
      return write(async (tx) => {
        const [found] = await findOwner(tx, key)
        const owner = found && (await adder.lockOwner(tx, found.id))
        // In the order of a commit: the thread, then its lease.
        await lockThread(tx, key)
        const [lease] = await lockLease(tx, key)
        if (!owner || !holdsLease(lease, token)) throw leaseLost(who, token)
        const { cut, to } = await prepare(tx, owner, key, ref, request)
        await rename(tx, owner.id, key.threadId, to.threadId, lease.run_id)
        await addBranch(tx, owner, cut, { thread_id: key.threadId, forked_from: to.threadId, updated_at: now() })
        return view(tx, key)
      })
    },
  }
}

type ForkRequest = ForkPoint & { readonly to: string }

/** Gives a thread another name. Contract: the runs that have begun in it go along, except the one that holds the lease of the name. */
function threadRenamer() {
  const renameThread = compiled((db, { owner, from, to }: Slots<{ owner: number; from: string; to: string }>) =>
    db.updateTable('troupe_threads').set({ thread_id: to }).where('owner', '=', owner).where('thread_id', '=', from),
  )
  const moveRuns = compiled(
    (db, { owner, from, to, holder }: Slots<{ owner: number; from: string; to: string; holder: string }>) =>
      db
        .updateTable('troupe_run_ids')
        .set({ thread_id: to })
        .where('owner', '=', owner)
        .where('thread_id', '=', from)
        .where('run_id', '<>', holder),
  )
  return async (tx: Queries, owner: number, from: string, to: string, holder: string): Promise<void> => {
    await renameThread(tx, { owner, from, to })
    await moveRuns(tx, { owner, from, to, holder })
  }
}

/** A thread, and the sequence of the last message that its branch has. */
interface Cut {
  readonly source: Pick<Tables['troupe_threads'], 'base' | 'title' | 'metadata'> & { readonly id: number }
  readonly cut: number
}

type BranchName = Pick<NewThread, 'thread_id' | 'forked_from' | 'updated_at'>
type ViewOf = (tx: Queries, key: ThreadKey) => ReturnType<ThreadStore['open']>

/** The parts up to a message, neighbours of the same thread joined. */
function sharedUpTo(segments: readonly Segment[], cut: number): readonly Segment[] {
  const shared: Segment[] = []
  for (const { source, after, upto } of segments) {
    if (after >= cut) break
    const end = Math.min(upto, cut)
    const before = shared.at(-1)
    if (before?.source === source) shared[shared.length - 1] = { ...before, upto: end }
    else shared.push({ source, after, upto: end })
  }
  return shared
}

/** Says whether an id is taken by a thread or by a run that has its lease. Contract: drops a lease that has expired, because its token would still be good for a commit. */
function takenCheck(time: LeaseTime) {
  const find = compiled((db, key: Slots<ThreadKey>) => threadOf(db, key).select('t.id'))
  const findLease = compiled((db, { owner, threadId, now }: Slots<{ owner: number; threadId: string; now: number }>) =>
    db
      .selectFrom('troupe_leases')
      .select(['token', sql<number>`expires_at - ${time.at(now)}`.as('left')])
      .where('owner', '=', owner)
      .where('thread_id', '=', threadId),
  )
  const dropLease = compiled((db, { token }: Slots<{ token: number }>) =>
    db.deleteFrom('troupe_leases').where('token', '=', token),
  )
  return async (tx: Queries, owner: number, key: ThreadKey): Promise<boolean> => {
    if ((await find(tx, key)).length > 0) return true
    const [lease] = await findLease(tx, { owner, threadId: key.threadId, now: time.now() })
    if (!lease) return false
    if (lease.left > 0) return true
    await dropLease(tx, { token: lease.token })
    return false
  }
}

/** Copies the processed ids that count for one message. */
function processedCopier() {
  return compiled((db, { branch, source, seq }: Slots<{ branch: number; source: number; seq: number }>) =>
    db
      .insertInto('troupe_processed')
      .columns(['thread', 'foreign_id', 'seq'])
      .expression(
        db
          .selectFrom('troupe_processed')
          .select([sql`${branch}`.as('thread'), 'foreign_id', 'seq'])
          .where('thread', '=', source)
          .where('seq', '=', seq),
      ),
  )
}

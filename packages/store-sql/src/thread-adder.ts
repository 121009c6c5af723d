import { compiled, type Slots, sure } from './compiled.ts'
import type { Engine, Queries } from './engine.ts'
import { locked } from './rows.ts'
import type { Tables } from './schema.ts'
import { statements } from './statements.ts'
import { OPEN_END, type Segment } from './thread-path.ts'

/** An owner that is locked, with the last sequence given to its threads. */
export interface LockedOwner {
  readonly id: number
  readonly last: number
}

type Row = Tables['troupe_threads']
/** What a new thread may have from its beginning. */
export type NewThread = Pick<Row, 'thread_id' | 'updated_at'> &
  Partial<Pick<Row, 'state' | 'base' | 'message_seq' | 'forked_from' | 'forked_at' | 'title' | 'metadata'>>

/** Adds threads. */
export interface ThreadAdder {
  /** Serialises the calls that add and delete threads of an owner. */
  lockOwner(tx: Queries, id: number): Promise<LockedOwner>
  /** Adds a thread that has some parts of others, and returns its key. */
  add(tx: Queries, owner: LockedOwner, thread: NewThread, shared?: readonly Segment[]): Promise<number>
}

export function threadAdder(engine: Engine): ThreadAdder {
  // A weaker lock than that of an update: a new lease refers to its owner and must not wait for a call that waits for its thread.
  const lockOwner = compiled((db, { owner }: Slots<{ owner: number }>) =>
    locked(
      engine,
      db.selectFrom('troupe_owners as t').select(['id', 'thread_seq as last']).where('id', '=', owner),
      'no key update',
    ),
  )
  const count = compiled((db, { owner, seq }: Slots<{ owner: number; seq: number }>) =>
    db.updateTable('troupe_owners').set({ thread_seq: seq }).where('id', '=', owner),
  )
  const addRow = compiled((db, row: Slots<Omit<Row, 'id'>>) =>
    db.insertInto('troupe_threads').values(row).returning('id'),
  )
  const addSegments = compiled((db, rows: Slots<readonly Tables['troupe_segments'][]>) =>
    db.insertInto('troupe_segments').values(rows),
  )
  return {
    lockOwner: async (tx, owner) => sure(await lockOwner(tx, { owner })),

    async add(tx, { id: owner, last }, given, shared = []) {
      const seq = last + 1
      await count(tx, { owner, seq })
      const { id } = sure(await addRow(tx, { ...EMPTY, owner, seq, ...given }))
      const own = { source: id, after: shared.at(-1)?.upto ?? 0, upto: OPEN_END }
      for (const some of statements([...shared, own])) {
        await addSegments(
          tx,
          some.map(({ source, after, upto }) => ({ thread: id, source, after, upto })),
        )
      }
      return id
    },
  }
}

const EMPTY = {
  version: 0,
  state: '{}',
  open_calls: '[]',
  checkpoint: null,
  waiting: 0,
  unfinished: null,
  unfinished_cancel: null,
  released: null,
  message_seq: 0,
  run_seq: 0,
  call_seq: 0,
  base: null,
  forked_from: null,
  forked_at: null,
  title: null,
  metadata: null,
}

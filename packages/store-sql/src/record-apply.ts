import type { RecordStore } from '@troupe/kernel'
import { checkCommands, runIdOf } from '@troupe/kernel/store'
import { applyCommands } from './apply-commands.ts'
import { batchLoader } from './batch-loader.ts'
import { batchSaver, type WriteBatch } from './batch-saver.ts'
import { compiled, type Slots } from './compiled.ts'
import type { SqlDatabase } from './open-database.ts'
import { locked, threadOf } from './rows.ts'
import { type ThreadKey, threadKey } from './thread-key.ts'

/** Writes record commands. */
export function recordApply({ who, engine, write }: SqlDatabase, writeAtOnce?: WriteBatch): RecordStore['apply'] {
  const lockThread = compiled((db, key: Slots<ThreadKey>) =>
    locked(engine, threadOf(db, key).select(['t.id', 't.owner', 't.run_seq', 't.call_seq', 't.unfinished'])),
  )
  const [load, save] = [batchLoader(), batchSaver(who, writeAtOnce)]
  return async (ref, commands) => {
    const key = threadKey(who, ref)
    checkCommands(who, commands)
    if (commands.length === 0) return []
    return write(async (tx) => {
      const [thread] = await lockThread(tx, key)
      if (!thread) return commands.map((command) => ({ runId: runIdOf(command), refused: true }))
      const batch = await load(tx, thread, commands)
      const results = applyCommands(batch, commands)
      await save(tx, thread, batch)
      return results
    })
  }
}

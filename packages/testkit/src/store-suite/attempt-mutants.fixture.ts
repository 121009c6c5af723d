import type { RecordCommand, Store } from '@troupe/kernel'
import { runIdOf } from '@troupe/kernel/store'
import type { StoreMutant } from './store-mutant.fixture.ts'

/** A store that gets other commands. */
function changing({ records }: Store, change: (command: RecordCommand) => RecordCommand): Partial<Store> {
  return { records: { ...records, apply: (ref, commands) => records.apply(ref, commands.map(change)) } }
}

const without = ({ by: _, ...command }: RecordCommand): RecordCommand => command

/** Stores that are wrong about attempts; malformed commands reach them as they are. */
export const attemptMutants: readonly StoreMutant[] = [
  {
    wrong: 'an attempt that was replaced writes on',
    caught: [
      'once a run has begun again, commands of the attempt before are refused',
      'an attempt that was replaced writes no records of nested runs either',
    ],
    ports: (store) => changing(store, (command) => (command?.by?.attempt === 1 ? without(command) : command)),
  },
  {
    wrong: 'an attempt counts for the root run alone',
    caught: ['an attempt that was replaced writes no records of nested runs either'],
    ports: (store) =>
      changing(store, (command) =>
        command?.by?.attempt === 1 && command.by.runId !== runIdOf(command) ? without(command) : command,
      ),
  },
  {
    wrong: 'the attempts of all runs of a thread count together',
    caught: ['attempts at other runs, and commands without one, are not refused'],
    ports: (store) =>
      changing(store, (command) =>
        command?.by?.runId === 'run-2' ? { ...command, by: { ...command.by, runId: 'run-1' } } : command,
      ),
  },
]

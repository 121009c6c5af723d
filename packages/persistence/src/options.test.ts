import { systemClock } from '@troupe/kernel/kit'
import { memoryStore } from '@troupe/kernel/memory-store'
import { testOptions } from '@troupe/testkit'
import {
  type HistoryOptions,
  type LifecycleOptions,
  loadHistory,
  messageLifecycle,
  type ReconcileOptions,
  reconcile,
  runLifecycle,
  streamHistory,
  type ToolLifecycleOptions,
  toolLifecycle,
  type WriteOptions,
} from './index.ts'
import { ANN } from './persistence.fixture.ts'

const store = memoryStore()
const write: Required<WriteOptions> = {
  delayMs: 1,
  maxText: 1,
  maxCommands: 1,
  attempts: 1,
  retryMs: 1,
  maxRetryMs: 1,
  timeoutMs: 1,
  maxPending: 1,
  flushMs: 1,
}
const lifecycle: Required<LifecycleOptions> = {
  store,
  publish: () => {},
  onDone: () => {},
  mode: 'on',
  clock: systemClock,
  report: () => {},
  write,
}
const history: Required<HistoryOptions> = { pageSize: 10, last: 5 }
const reconciled: Required<ReconcileOptions> = { store, before: 0, threads: [], pageSize: 10, clock: systemClock }

testOptions<LifecycleOptions>('messageLifecycle', messageLifecycle, lifecycle)
testOptions<LifecycleOptions>('runLifecycle', runLifecycle, lifecycle)
testOptions('how it writes', (options: WriteOptions) => messageLifecycle({ store, write: options }), write)
testOptions<ToolLifecycleOptions>('toolLifecycle', toolLifecycle, { messages: messageLifecycle({ store }) })
testOptions<ReconcileOptions>('reconcile', reconcile, reconciled)
testOptions('loadHistory', (options: HistoryOptions) => loadHistory(store, ANN, options), history)
testOptions('streamHistory', (options: { pageSize: number }) => streamHistory(store, ANN, options).next(), {
  pageSize: 10,
})

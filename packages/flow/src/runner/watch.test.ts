import type { CancelMode } from '@troupe/kernel'
import { systemClock } from '@troupe/kernel/kit'
import { expect, test } from 'vitest'
import { checkLimits } from './limits.ts'
import { Watch } from './watch.ts'

test.each<[CancelMode, CancelMode, CancelMode]>([
  ['after-tools', 'after-model', 'after-model'],
  ['after-model', 'after-tools', 'after-model'],
  ['after-model', 'now', 'now'],
  ['now', 'after-tools', 'now'],
  ['now', 'now', 'now'],
])('of a cancel %s and then %s, the harder one counts', (first, second, counts) => {
  const watch = new Watch(systemClock, checkLimits())
  watch.cancel(first)
  watch.cancel(second)
  expect(watch.cancelling).toBe(counts)
})

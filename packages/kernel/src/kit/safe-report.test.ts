import { afterEach, expect, it, vi } from 'vitest'
import { KernelError } from '../index.ts'
import { safeReport } from '../kit.ts'

const error = new KernelError('CALLBACK_FAILED', 'callback: broken')

afterEach(() => vi.restoreAllMocks())

it('passes on everything that it is given', () => {
  const seen: unknown[] = []
  safeReport((...given: [KernelError, string]) => void seen.push(given))(error, 'r1')
  expect(seen).toEqual([[error, 'r1']])
})

it.each([
  ['without a report', undefined],
  [
    'if the report throws',
    () => {
      throw new Error('no log')
    },
  ],
])('logs to the console %s', (_when, report) => {
  const log = vi.spyOn(console, 'error').mockReturnValue()
  safeReport(report)(error)
  expect(log).toHaveBeenCalledExactlyOnceWith(error)
})

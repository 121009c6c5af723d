import { expect, test } from 'vitest'
import { systemClock } from '../kit.ts'

test('a limit of more than 24 days does not run out at once', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => void warnings.push(name)
  process.on('warning', note)
  for (const ms of [2 ** 31, Number.MAX_SAFE_INTEGER]) systemClock.after(ms, () => undefined)()
  await new Promise((resolve) => setImmediate(resolve))
  process.off('warning', note)
  expect(warnings).toEqual([])
})

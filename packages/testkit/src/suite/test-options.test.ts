import { checkOptionNames } from '@troupe/kernel/kit'
import { describe, expect, test } from 'vitest'
import { optionClauses, testOptions } from './test-options.ts'

interface ShoutOptions {
  readonly suffix?: string
  readonly volume?: number
}
const all: Required<ShoutOptions> = { suffix: '?', volume: 11 }
const known = { suffix: true, volume: true } as const

testOptions(
  'a factory that checks its options',
  (options: ShoutOptions) => checkOptionNames('shout', options, known),
  all,
)
testOptions('one that does so later', async (options: ShoutOptions) => checkOptionNames('shout', options, known), all)

describe('notices a factory that', () => {
  test.each<[string, (options: ShoutOptions) => unknown, string[]]>([
    ['takes anything', () => 1, ['refuses suffix where it is misspelt', 'refuses volume where it is misspelt']],
    [
      'does not know one',
      (options) => checkOptionNames('shout', options, { suffix: true } as never),
      ['takes every option it has', 'refuses suffix where it is misspelt', 'refuses volume where it is misspelt'],
    ],
    [
      'says no more than that it is wrong',
      (options) => {
        if (Object.keys(options).length > 2) throw new Error('wrong')
      },
      ['refuses suffix where it is misspelt', 'refuses volume where it is misspelt'],
    ],
  ])('%s', async (_, make, expected) => {
    const failed: string[] = []
    for (const { name, run } of optionClauses(make, all)) await run().catch(() => failed.push(name))
    expect(failed).toEqual(expected)
  })
})

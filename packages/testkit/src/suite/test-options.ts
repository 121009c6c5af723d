import { KernelError } from '@troupe/kernel'
import { expect } from 'vitest'
import { type Clause, register } from '../clause.ts'

/**
 * How a factory treats the names of its options, as tests: it takes each, and refuses what is near to one.
 * @example testOptions('shout', shout, { suffix: '?' })
 */
export function testOptions<Options extends object>(
  name: string,
  make: (options: Options) => unknown,
  all: Options,
): void {
  register(name, optionClauses(make, all))
}

export function optionClauses<Options extends object>(
  make: (options: Options) => unknown,
  all: Options,
): readonly Clause[] {
  const names = Object.keys(all)
  return [
    {
      name: 'takes every option it has',
      run: async () => {
        await make(all)
      },
    },
    ...names.map((option) => ({
      name: `refuses ${option} where it is misspelt`,
      run: async () => {
        const misspelt = `${option}x`
        const error = await failureOf(() => make({ ...all, [misspelt]: 1 }))
        expect(KernelError.is(error, 'CONFIG_INVALID'), `CONFIG_INVALID, got ${error}`).toBe(true)
        const [, said, meant] = /unknown option (\S+); did you mean (\S+)\?$/.exec(String(error)) ?? []
        expect(said?.split('.').at(-1), `the name that is unknown, got ${error}`).toBe(misspelt)
        expect(names, 'the name that was meant').toContain(meant)
      },
    })),
  ]
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work()
  } catch (error) {
    return error
  }
  return undefined
}

import { KernelError } from '@troupe/kernel'
import { type Clause, register } from '../clause.ts'
import { demand, errorText } from '../fault.ts'

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
      todo: 'List every option in the second argument of `checkOptionNames`.',
      run: async () => {
        await make(all)
      },
    },
    ...names.map((option) => ({
      name: `refuses ${option} where it is misspelt`,
      todo: "Call `checkOptionNames('yourPlugin', options, { … })` first of all.",
      run: async () => {
        const misspelt = `${option}x`
        const error = await failureOf(() => make({ ...all, [misspelt]: 1 }))
        const became = error === undefined ? 'takes it' : `throws ${errorText(error)}`
        demand(KernelError.is(error, 'CONFIG_INVALID'), `The factory does not refuse ${misspelt}: it ${became}`)
        const [, refused, meant] = /unknown option (\S+); did you mean (\S+)\?$/.exec(String(error)) ?? []
        const named = refused?.split('.').at(-1) === misspelt && names.includes(meant ?? '')
        demand(named, `The error does not name ${misspelt} and what was meant: ${errorText(error)}`)
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

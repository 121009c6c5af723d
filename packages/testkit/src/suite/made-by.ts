import { demand, firstCause, shown } from '../fault.ts'

/** Makes a plugin with the factory that a suite was given. Contract: a factory that throws, or gives something else, is named as the fault. */
export function madeBy<Plugin extends object>(make: () => Plugin, kind: string): Plugin {
  const a = /^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`
  let made: unknown
  try {
    made = make()
  } catch (error) {
    throw firstCause(error, (text) => `make() threw ${text}`)
  }
  const give = `Return the ${kind} from make(), the function that you give to the suite.`
  demand(typeof made === 'object' && made !== null, `make() gave ${shown(made)}, which is not ${a}`, give)
  const wait = `Return the ${kind} itself from make(). If it takes time to make, wait for it in a \`beforeAll\`.`
  demand(!('then' in made), `make() gave a promise, which is not ${a}`, wait)
  return made as Plugin
}

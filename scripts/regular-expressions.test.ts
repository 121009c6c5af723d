import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type FoundExpression, regularExpressionsIn } from './regular-expressions.ts'

// The plain JavaScript of recheck gives the same answers on every machine.
process.env.RECHECK_BACKEND = 'pure'
const { checkSync } = await import('recheck')

const root = resolve(import.meta.dirname, '..')
const files = globSync(['packages/*/src/**/*.{ts,tsx}', 'apps/*/{src,page/src}/**/*.{ts,tsx}'], { cwd: root })
const sources = files.filter((file) => !/\.(test|fixture)\.tsx?$/.test(file))
const found = sources.map((file) => regularExpressionsIn(file, readFileSync(join(root, file), 'utf8')))

/** The text that makes an expression slow and how its time grows; undefined if its time is linear. */
function weaknessOf({ place, source, flags }: FoundExpression): string | undefined {
  // Without a time limit a busy machine changes nothing; the search has a limit of steps.
  const result = checkSync(source, flags, { timeout: null })
  if (result.status === 'safe') return undefined
  const growth = result.status === 'vulnerable' ? result.complexity.summary : `unknown: ${result.error.kind}`
  const attack = result.status === 'vulnerable' ? `, for example on ${result.attack.pattern}` : ''
  return `${place}: /${source}/${flags} is ${growth}${attack}`
}

it('every regular expression of the packages and apps takes linear time for any text', async () => {
  const written = new Map(found.flatMap((file) => file.written).map((one) => [`/${one.source}/${one.flags}`, one]))
  expect(written.size).toBeGreaterThan(50)
  const weak: (string | undefined)[] = []
  for (const expression of written.values()) {
    weak.push(weaknessOf(expression))
    await setImmediate()
  }
  expect(weak.filter((weakness) => weakness !== undefined)).toEqual([])
})

it('only the commands that copy templates build regular expressions, from words of their own', () => {
  const built = found.flatMap((file) => file.built).map(({ place }) => place)
  expect(built.filter((place) => !/^packages\/create-(app|plugin)\//.test(place))).toEqual([])
})

it.each([
  ['a code block around JSON', '/^\\s*```(?:json)?\\s*\\n(.*?)\\n?\\s*```\\s*$/s', '3rd degree polynomial'],
  ['two words of a question', '/\\b(what|show|read|which)\\b.*\\blist\\b/i', '2nd degree polynomial'],
  ['the end of an address', '/\\/?(\\?.*)?$/', '2nd degree polynomial'],
  ['labels of a host name', '/^(?:[a-z0-9]+-?)*[a-z0-9]+$/i', 'exponential'],
])('finds an expression that backtracks: %s', (_, expression, growth) => {
  const { written } = regularExpressionsIn('a.ts', `export const found = (text: string) => ${expression}.test(text)`)
  expect(written.map(weaknessOf)).toEqual([expect.stringContaining(`a.ts:1: ${expression} is ${growth}`)])
})

it('finds expressions that are built', () => {
  const { built } = regularExpressionsIn('a.ts', 'const a = (b: string) => [new RegExp(b), RegExp(b, "u")]')
  expect(built.map(({ code }) => code)).toEqual(['new RegExp(b)', 'RegExp(b, "u")'])
})

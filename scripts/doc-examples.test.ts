import { expect, it } from 'vitest'
import { allExamples, examplesIn, mistakesIn, preludeNames } from './doc-examples.ts'

const FILE = 'packages/kernel/src/agent/say.ts'

it('type-checks every example of a doc comment', () => {
  const examples = allExamples()
  expect(examples.length).toBeGreaterThan(100)
  expect(mistakesIn(examples)).toEqual([])
})

it('finds the examples of exported declarations and of their members, several in one comment too', () => {
  const text = [
    '/** @example one() */',
    'export function one() {}',
    '/**',
    ' * A class.',
    ' * @example',
    ' * new Two({',
    ' *   three: 3,',
    ' * })',
    ' * @example new Two()',
    ' */',
    'export class Two {',
    '  /** @example new Two().four() // 4 */',
    '  four() {}',
    '}',
    '/** @example five() */',
    'function five() {}',
  ].join('\n')
  expect(examplesIn(FILE, text)).toEqual([
    { file: FILE, line: 1, code: 'one()' },
    { file: FILE, line: 6, code: 'new Two({\n  three: 3,\n})' },
    { file: FILE, line: 9, code: 'new Two()' },
    { file: FILE, line: 12, code: 'new Two().four() // 4' },
  ])
})

it('an example sees its file, its package, the kernel and the prelude', () => {
  const file = 'packages/flow/src/tree/describe.ts'
  const code = [
    'const tree: AgentDescription = describe(agent)', // its file
    'runner({ agent: setSubAgents(agent, []) })', // its package
    "await startRun(agent, 'Hi')", // the kernel
    'messageLifecycle({ store })', // the prelude
    'loadHistory(store, session)', // another package
  ].join('\n')
  expect(mistakesIn([{ file, line: 10, code }])).toEqual([
    expect.stringContaining(`${file}:14: Cannot find name 'loadHistory'`),
  ])
})

it('finds unknown names, wrong arguments and code that is left out', () => {
  const codes = ['sya(ctx)', 'say(ctx, 1)', "chatModelAgent({ name: 'a', … })"]
  expect(mistakesIn(codes.map((code, i) => ({ file: FILE, line: i + 1, code })))).toEqual([
    expect.stringContaining(`${FILE}:1: Cannot find name 'sya'`),
    expect.stringContaining(`${FILE}:2: Argument of type 'number' is not assignable`),
    expect.stringContaining(`${FILE}:3: Invalid character`),
    expect.stringContaining(`${FILE}:3: `),
  ])
})

it('the prelude declares only names that examples use', () => {
  const used = new Set(allExamples().flatMap(({ code }) => code.match(/\w+/g) ?? []))
  expect(preludeNames().filter((name) => !used.has(name))).toEqual([])
})

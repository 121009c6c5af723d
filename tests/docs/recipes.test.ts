import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, it } from 'vitest'
import { blocksOf, importsOf, root } from './guide.fixture.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const recipes = globSync('docs/recipes/*.md', { cwd: root }).filter((path) => basename(path) !== 'README.md')

it('docs/recipes/README.md lists every recipe once', () => {
  const listed = [...read('docs/recipes/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => file)
  expect(listed.sort()).toEqual(recipes.map((path) => basename(path)).sort())
})

it.each(recipes)('%s is a question, one program and links, at most one screen', (path) => {
  const text = read(path)
  expect(text).toMatch(/^# How do I .*\?$/m)
  expect(text.split('\n').length).toBeLessThan(65)
  const blocks = blocksOf(path)
  const program = blocks.filter(({ kind }) => kind === 'ts')
  expect(program).toHaveLength(1)
  // A test file prints what its runner prints.
  const isRun = program[0]?.file?.endsWith('.test.ts') || blocks.some(({ kind }) => kind === 'text')
  expect(isRun).toBe(true)
  expect(text).toMatch(/^More: \[/m)
})

it.each(recipes)('%s says what to install', (path) => {
  const [program] = blocksOf(path).filter(({ kind }) => kind === 'ts')
  const installed = [...read(path).matchAll(/npm install (.*)/g)].flatMap(([, names = '']) => names.split(' '))
  const needed = importsOf(program?.code ?? '')
    .filter((name) => !name.startsWith('node:'))
    .map((name) =>
      name
        .split('/')
        .slice(0, name.startsWith('@') ? 2 : 1)
        .join('/'),
    )
  expect(installed).toEqual(expect.arrayContaining(needed))
})

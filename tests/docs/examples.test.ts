import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { blocksOf, root } from './guide.fixture.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const manifests = globSync('examples/*/package.json', { cwd: root })
// The others are plugins: the templates, and those that `pnpm create-plugin` makes.
const programs = manifests
  .filter((path) => read(path).includes('"@troupe-examples/'))
  .map(dirname)
  .sort()
const printing = programs.filter((folder) => blocksOf(`${folder}/README.md`).some(({ kind }) => kind === 'text'))

it('examples/README.md lists every program', () => {
  const listed = [...read('examples/README.md').matchAll(/^\| \[([\w-]+)\]/gm)].map(([, name]) => `examples/${name}`)
  expect(listed.sort()).toEqual(programs)
})

describe.each(programs)('the README of %s', (folder) => {
  const readme = read(`${folder}/README.md`)

  it('has about ten lines, and names the command and a file to read', () => {
    expect(readme.split('\n').length).toBeLessThan(25)
    const { name, scripts } = JSON.parse(read(`${folder}/package.json`))
    expect(readme).toContain(`npx -y pnpm@12.18.0 --filter ${name} start`)
    expect(scripts.start).toBeDefined()
    const [, file = ''] = /\]\((src\/[\w-]+\.ts)\)/.exec(readme) ?? []
    expect(existsSync(join(root, folder, file))).toBe(true)
  })
})

it.each(printing)('%s prints what its README says', (folder) => {
  const [shown] = blocksOf(`${folder}/README.md`).filter(({ kind }) => kind === 'text')
  const args = ['--no-warnings', join(root, folder, 'src/main.ts')]
  expect(execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 15_000 })).toBe(shown?.code)
})

import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, root } from './guide.fixture.ts'
import { type Names, readNames, unknownNames, wordsOfSources } from './names.fixture.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const find = (pattern: string) => globSync(pattern, { cwd: root, exclude: ['**/node_modules/**'] }).sort()

const skill = read('skills/troupe/SKILL.md')
const references = find('skills/troupe/references/*.md')
const pages = [...find('skills/**/*.md'), ...find('{AGENTS.md,*/*/AGENTS.md}')]

let names: Names

beforeAll(() => {
  names = readNames()
})

/** The inline code of a page, without the names of others in tables whose first column is `not`. */
function inlineCodeOf(text: string): readonly string[] {
  const prose = text.replaceAll(/^```.*?^```/gms, '').replace(/^---\n.*?\n---\n/s, '')
  let isNot = false
  const lines = prose.split('\n').map((line) => {
    isNot = line.startsWith('| not |') || (isNot && line.startsWith('|'))
    return isNot ? line.replace(/^\|[^|]*\|/, '|') : line
  })
  return [...lines.join('\n').matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '))
}

/** Commands are checked by the tests that run them, and paths by the test of documents. */
const isCommand = (code: string) => /^(?:npx|npm|pnpm|node|vitest) /.test(code)

/** What a page may speak about besides the types: its own programs, which are compiled, and the sources beside it. */
function localWords(page: string): ReadonlySet<string> {
  if (page.startsWith('skills/'))
    return new Set(blocksOf(page).flatMap(({ code }) => code.match(/[A-Za-z_$][\w$]*/g) ?? []))
  if (page === 'AGENTS.md') return wordsOfSources('packages/*/src/**/*.ts', 'package.json', 'packages/*/package.json')
  return wordsOfSources(`${dirname(page)}/**/*.{ts,tsx,json}`)
}

describe.each(pages)('%s', (page) => {
  it('names only what exists', () => {
    const codes = inlineCodeOf(read(page)).filter((code) => !isCommand(code))
    const local = localWords(page)
    expect(codes.length).toBeGreaterThan(3)
    expect(codes.flatMap((code) => unknownNames(code, names, local).map((name) => `${name} in ${code}`))).toEqual([])
  })
})

describe('a name that does not exist is found', () => {
  it.each([
    ['@troupe/kernel/runs', ['@troupe/kernel/runs']],
    ['`startRuns`', ['startRuns']],
    ['runner({ agent, stores })', ['stores', 'runner: stores']],
    ["runner({ agent, name: 'a' })", ['runner: name']],
    ["durability: 'steps'", ["durability: 'steps'"]],
    ['text-deltas', ['text-deltas']],
    ['THREAD_BUSSY', ['THREAD_BUSSY']],
  ])('%s', (code, unknown) => {
    expect(unknownNames(code, names, new Set())).toEqual(unknown)
  })

  it('and what exists is not', () => {
    const codes = [
      "runner({ agent, store, durability: 'step' })",
      'ctx.session.user',
      '@troupe/ag-ui/node',
      'run-end',
      'LEASE_LOST',
    ]
    expect(codes.flatMap((code) => unknownNames(code, names, new Set()))).toEqual([])
  })
})

describe('the skill', () => {
  it('has the head that agentskills.io asks for', () => {
    const [, head = ''] = /^---\n(.*?)\n---\n/s.exec(skill) ?? []
    const fields = Object.fromEntries(head.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2)))
    expect(fields.name).toBe('troupe')
    expect(fields.description?.length).toBeGreaterThan(100)
    expect(fields.description?.length).toBeLessThanOrEqual(1_024)
    expect(fields.compatibility?.length).toBeLessThanOrEqual(500)
    expect(Object.keys(fields).filter((key) => !ALLOWED.includes(key))).toEqual([])
  })

  it('leads to every reference, and each is small', () => {
    expect(references.length).toBeGreaterThan(5)
    const linked = [...skill.matchAll(/\]\((references\/[\w-]+\.md)\)/g)].map(([, link]) => `skills/troupe/${link}`)
    expect(linked.sort()).toEqual(references)
    const sizes = ['skills/troupe/SKILL.md', ...references].map(
      (file) => [file, read(file).split('\n').length] as const,
    )
    expect(sizes.filter(([, lines]) => lines > 120)).toEqual([])
  })
})

/** The fields of a head: https://agentskills.io/specification */
const ALLOWED = ['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools']

import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { blocksOf, importsOf, link, root } from './guide.fixture.ts'

/** The blocks with a file name that are followed by their output. */
const programs = globSync(
  '{docs,docs/coming-from,docs/recipes,apps/site/pages,apps/site/pages/zh,skills/troupe,skills/troupe/references}/*.md',
  { cwd: root },
).flatMap((page) => {
  const blocks = blocksOf(page)
  return blocks.flatMap(({ kind, code, file }, i) => {
    const next = blocks[i + 1]
    return kind === 'ts' && file && next?.kind === 'text' ? [{ page, file, code, prints: next.code }] : []
  })
})

it('there are programs in the guides', () => {
  expect(programs.length).toBeGreaterThan(1)
})

it.each(programs)('$page: $file prints what the page says', ({ file, code, prints }) => {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-program-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, file), code)
    for (const name of importsOf(code)) link(folder, name)
    const args = ['--no-warnings', file]
    expect(execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8', timeout: 15_000 })).toBe(prints)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

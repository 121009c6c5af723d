import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const here = (path: string) => new URL(path, import.meta.url)
const doc = readFileSync(here('../../../docs/subagents.md'), 'utf8')

test('complete walk-through (实际示例): the complete wrapping process (完整的包装过程) is in docs/subagents.md, to the letter', () => {
  expect(doc).toContain(`\`\`\`ts\n${readFileSync(here('main.ts'), 'utf8')}\`\`\``)
})

test('and what it prints is there too', () => {
  const printed = execFileSync(process.execPath, [fileURLToPath(here('main.ts'))], { encoding: 'utf8' })
  expect(doc).toContain(`\`\`\`text\n${printed.replace(/durationMs: \d+/, 'durationMs: 4')}\`\`\``)
})

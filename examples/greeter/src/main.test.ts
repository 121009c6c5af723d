import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const here = (path: string) => new URL(path, import.meta.url)
const readme = readFileSync(here('../../../README.md'), 'utf8')

it('is the program of the README, to the letter', () => {
  expect(readme).toContain(`\`\`\`ts\n${readFileSync(here('main.ts'), 'utf8')}\`\`\``)
})

it('prints what the README says', () => {
  const printed = execFileSync(process.execPath, [here('main.ts').pathname], { encoding: 'utf8' })
  const [, told = ''] = /```json\n(.*?)```/s.exec(readme) ?? []
  expect(printed.trim().split(/ *\n/)).toEqual(JSON.parse(told))
})

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const here = (path: string) => new URL(path, import.meta.url)
const readme = readFileSync(here('../../../README.md'), 'utf8')
const block = (language: string) => new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(readme)?.[1]

it('is the program of the README, to the letter', () => {
  expect(block('ts')).toBe(readFileSync(here('main.ts'), 'utf8'))
})

it('prints what the README says', () => {
  const printed = execFileSync(process.execPath, [here('main.ts').pathname], { encoding: 'utf8' })
  expect(printed.replaceAll(/ +$/gm, '')).toBe(block('text'))
})

/** `pnpm create-plugin my-clock --kind tool` makes a plugin in `examples` that uses the sources of this workspace; with a folder of your own it uses npm. */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { runCommand } from '../packages/create-plugin/src/command.ts'

const { version } = JSON.parse(readFileSync('packages/create-plugin/package.json', 'utf8'))
const args = process.argv.slice(2)
const options = { kind: { type: 'string', short: 'k' } } as const
const elsewhere = parseArgs({ args, options, strict: false, allowPositionals: true }).positionals.length > 1

const { exitCode, output } = runCommand(args, {
  command: 'pnpm create-plugin',
  template: (kind) => `examples/${kind}-plugin`,
  parent: 'examples',
  range: elsewhere ? `^${version}` : 'workspace:^',
  holder: elsewhere ? undefined : 'Troupe contributors',
  year: new Date().getFullYear(),
  next: (folder, name) => (elsewhere ? [`cd ${folder}`, 'npm install', 'npm test'] : [`pnpm --filter ${name} test`]),
})
process.exitCode = exitCode
console.log(output)

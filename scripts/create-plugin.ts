/** `pnpm create-plugin my-handler` makes a plugin in `examples`, on the sources of this workspace; a folder of your own is not part of it. */
import { readFileSync } from 'node:fs'
import { runCommand } from '../packages/create-plugin/src/command.ts'

const { version } = JSON.parse(readFileSync('packages/create-plugin/package.json', 'utf8'))
const args = process.argv.slice(2)
const elsewhere = args.length > 1

const { exitCode, output } = runCommand(args, {
  command: 'pnpm create-plugin',
  template: 'examples/handler-plugin',
  parent: 'examples',
  range: elsewhere ? `^${version}` : 'workspace:^',
  next: ({ name, folder }) =>
    elsewhere ? [`cd ${folder}`, 'npm install', 'npm test'] : [`pnpm --filter ${name} test`],
})
process.exitCode = exitCode
console.log(output)

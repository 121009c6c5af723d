#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))

const { exitCode, output } = runCommand(process.argv.slice(2), {
  command: 'npm create troupe-plugin',
  template: join(import.meta.dirname, 'template'),
  // All of Troupe has one version.
  range: `^${version}`,
  next: ({ folder }) => [`cd ${folder}`, 'npm install', 'npm test', 'npm publish'],
})
process.exitCode = exitCode
process[exitCode === 0 ? 'stdout' : 'stderr'].write(`${output}\n`)

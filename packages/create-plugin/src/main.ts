#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommand } from './command.ts'
import { gitName } from './git-name.ts'

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))

const { exitCode, output } = runCommand(process.argv.slice(2), {
  command: 'npm create troupe-plugin',
  separator: '-- ',
  takenKind: process.env.npm_config_kind,
  template: (kind) => join(import.meta.dirname, 'templates', kind),
  // All of Troupe has one version.
  range: `^${version}`,
  holder: gitName(),
  year: new Date().getFullYear(),
  next: (folder) => [`cd ${folder}`, 'npm install', 'npm test', 'npm publish'],
})
process.exitCode = exitCode
process[exitCode === 0 ? 'stdout' : 'stderr'].write(`${output}\n`)

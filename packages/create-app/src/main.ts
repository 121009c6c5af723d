#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gitName } from '../../create-plugin/src/git-name.ts'
import { runCommand } from './command.ts'
import { runningPackageManager } from './package-manager.ts'
import { prompts } from './prompts.ts'

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
const { env, stdin, stdout, stderr } = process
const isAnswered = stdin.isTTY && stdout.isTTY && !env.CI

const { exitCode, output } = await runCommand(process.argv.slice(2), {
  templates: join(import.meta.dirname, 'templates'),
  skill: join(import.meta.dirname, 'skill'),
  version,
  node: process.versions.node,
  taken: {
    ...(env.npm_config_template && { template: env.npm_config_template }),
    ...(env.npm_config_model && { model: env.npm_config_model }),
    ...(env.npm_config_store && { store: env.npm_config_store }),
    ...(env.npm_config_pm && { pm: env.npm_config_pm }),
    ...(env.npm_config_list && { list: env.npm_config_list }),
    // `npx --yes` is about installing this command, and not meant for it.
    ...(env.npm_config_yes && env.npm_command === 'init' && { yes: env.npm_config_yes }),
  },
  running: runningPackageManager(env.npm_config_user_agent),
  asker: isAnswered ? prompts(stdin, stdout) : undefined,
  parent: process.cwd(),
  plugin: {
    takenKind: env.npm_config_kind,
    template: (kind) => join(import.meta.dirname, 'plugins', kind),
    holder: gitName(),
    year: new Date().getFullYear(),
    next: (folder) => [`cd ${folder}`, 'npm install', 'npm test', 'npm publish'],
  },
})
process.exitCode = exitCode
const stream = exitCode === 0 ? stdout : stderr
stream.write(`${output}\n`)

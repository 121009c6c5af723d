import { resolve } from 'node:path'
import {
  type CommandOptions as PluginOptions,
  runCommand as runPluginCommand,
} from '../../create-plugin/src/command.ts'
import { refuseOccupied } from '../../create-plugin/src/new-folder.ts'
import { readArguments, type TakenOptions } from './arguments.ts'
import { type Asker, Cancelled, type Choices, checkGiven, choose, MODELS } from './choices.ts'
import { createApp } from './create-app.ts'
import { PACKAGE_MANAGERS, type PackageManager, withCommandsOf } from './package-manager.ts'
import { STORES, type Template, templatesIn } from './template.ts'
import { VENDORS } from './vendor.ts'

/** The settings of the command, without its arguments. */
export interface CommandOptions {
  /** The folder of the templates of apps. */
  readonly templates: string
  /** The folder of what coding assistants read about Troupe. */
  readonly skill: string
  readonly version: string
  /** The version of Node that runs the command. */
  readonly node: string
  /** The options that the package manager took for its own. */
  readonly taken: TakenOptions
  /** The package manager that runs the command. */
  readonly running: PackageManager
  /** Undefined where nobody can answer. */
  readonly asker: Asker | undefined
  /** The folder that relative paths begin at. */
  readonly parent: string
  /** What `plugin` as the first argument needs. */
  readonly plugin: Omit<PluginOptions, 'command' | 'separator' | 'parent' | 'range'>
}

/** The version of Node that an app needs. */
const NEEDED = '22.18 or later'

interface CommandResult {
  readonly exitCode: 0 | 1 | 130
  readonly output: string
}

/** Makes the app or the plugin that the arguments ask for. Contract: whatever is refused, nothing is made. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const { templates: folder, version, taken, running, parent } = options
  // All of Troupe has one version.
  const range = `^${version}`
  if (args[0] === 'plugin') {
    const names = { command: 'npm create troupe plugin', separator: '-- ', parent, range }
    return runPluginCommand(args.slice(1), { ...options.plugin, ...names })
  }
  try {
    const templates = templatesIn(folder)
    const { help, version: printVersion, list, yes, ...given } = readArguments(args, taken, templates)
    if (help) return { exitCode: 0, output: usage(templates) }
    if (printVersion) return { exitCode: 0, output: version }
    if (list) return { exitCode: 0, output: listed(templates) }
    checkGiven(given, templates)
    if (given.folder !== undefined) refuseOccupied(resolve(parent, given.folder))
    const refuse = (text: string) => refusal(() => refuseOccupied(resolve(parent, text)))
    const choices = await choose(given, templates, running, { asker: yes ? undefined : options.asker, refuse })
    const target = resolve(parent, choices.folder)
    const name = createApp({ ...choices, folder: target, skill: options.skill, range })
    return { exitCode: 0, output: made(name, choices, options.node) }
  } catch (error) {
    if (error instanceof Cancelled) return { exitCode: 130, output: 'Stopped. Nothing was made.' }
    return { exitCode: 1, output: error instanceof Error ? error.message : String(error) }
  }
}

/** The message of what a function throws. */
function refusal(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function made(
  name: string,
  { folder, template, model, store, packageManager, defaults }: Choices,
  node: string,
): string {
  const run = (command: string) => withCommandsOf(command, packageManager)
  const vendor = VENDORS.find(({ id }) => id === model)
  const inside = folder === '.' || folder === './'
  return [
    ...(defaults.length === 0 ? [] : [`Defaults: ${defaults.join(', ')}. See --help.`, '']),
    `Made ${name} in ${folder} from the template ${template.name}. Next:`,
    ...(runsTypeScript(node) ? [] : ['', `  install Node ${NEEDED}: this is ${node}, which does not run the app`]),
    '',
    ...(inside ? [] : [`  cd ${quoted(folder)}`]),
    `  ${run('npm install')}`,
    ...(store === 'postgres' ? ['  cp .env.example .env   # and set DATABASE_URL'] : []),
    `  ${run('npm start')}`,
    '',
    vendor
      ? `A demo model answers until ${vendor.variable} is set, in your shell or in .env. README.md has the rest.`
      : 'A demo model answers; README.md says how to take a real one.',
  ].join('\n')
}

/** Whether this version of Node runs TypeScript by itself, as the apps need it. */
function runsTypeScript(node: string): boolean {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 18)
}

/** A path as it is typed in a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}

function listed(templates: readonly Template[]): string {
  const width = Math.max(...templates.map(({ name }) => name.length))
  return templates.map(({ name, description }) => `${name.padEnd(width)}  ${description}`).join('\n')
}

function usage(templates: readonly Template[]): string {
  return `Usage: npm create troupe [folder] -- [options]
       npm create troupe plugin <name> [folder] -- [--kind …]

Makes an app that runs without a key, with tests, in a new or empty folder. It asks for what you leave out; where nobody can
answer, it takes the first of each list.

  folder          my-app, unless you say otherwise
  --template, -t  ${templates.map(({ name }) => name).join(', ')}
  --model, -m     ${MODELS.join(', ')}
  --store, -s     ${STORES.join(', ')}, where the template has a choice
  --pm            ${PACKAGE_MANAGERS.join(', ')}; the one that runs this, unless you say otherwise
  --yes, -y       takes the defaults and does not ask
  --list, -l      the templates, with a line about each
  --version, -v   the version
  --help, -h      this

Templates:

${listed(templates).replaceAll(/^/gm, '  ')}`
}

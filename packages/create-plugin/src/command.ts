import { parseArgs } from 'node:util'
import { type CreatePluginOptions, createPlugin } from './create-plugin.ts'
import { KINDS, type Kind, kindOf } from './kind.ts'
import { takeBack } from './taken-option.ts'

/** The settings of the command, without its arguments. */
export interface CommandOptions extends Omit<CreatePluginOptions, 'name' | 'kind' | 'folder'> {
  /** The command as people type it. */
  readonly command: string
  /** The text before options, if the package manager would take them for its own. @default '' */
  readonly separator?: string
  /** A `--kind` that the package manager took for its own: its value, or 'true' if the value is an argument. */
  readonly takenKind?: string | undefined
  /** The commands that come next. */
  readonly next: (folder: string, name: string) => readonly string[]
}

interface CommandResult {
  readonly exitCode: 0 | 1
  readonly output: string
}

/** Makes the plugin that the arguments ask for. */
export function runCommand(args: readonly string[], options: CommandOptions): CommandResult {
  const { command, separator = '', takenKind, next, ...rest } = options
  const explained = usage(command, separator)
  try {
    const { help, kind, name, folder } = read(args, takenKind)
    if (help) return { exitCode: 0, output: explained }
    if (name === undefined) return { exitCode: 1, output: `The plugin needs a name.\n\n${explained}` }
    const target = createPlugin({ ...rest, kind, name, ...(folder !== undefined && { folder }) })
    return { exitCode: 0, output: made(name, kind, target, next(target, name)) }
  } catch (error) {
    return { exitCode: 1, output: error instanceof Error ? error.message : String(error) }
  }
}

interface Arguments {
  readonly help: boolean
  readonly kind: Kind
  readonly name?: string
  readonly folder?: string
}

function read(args: readonly string[], takenKind: string | undefined): Arguments {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h', default: false }, kind: { type: 'string', short: 'k' } },
  })
  const found = { name: 'kind', known: KINDS, taken: values.kind === undefined ? takenKind : undefined }
  const { value = 'handler', words } = takeBack(positionals, found)
  const [name, folder, extra] = words
  if (extra !== undefined) throw new Error(`A name and a folder are enough, but there is '${extra}' too. See --help.`)
  return {
    help: values.help,
    kind: kindOf(values.kind ?? value),
    ...(name !== undefined && { name }),
    ...(folder !== undefined && { folder }),
  }
}

function made(name: string, kind: Kind, folder: string, next: readonly string[]): string {
  return `Made ${name} in ${folder}: ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} that works, its test, and what npm publishes.
Write your own in ${folder}/src/index.ts. Next:

${next.map((line) => `  ${line}`).join('\n')}`
}

function usage(command: string, separator: string): string {
  return `Usage: ${command} <name> [folder] ${separator}[--kind ${KINDS.join('|')}]

Makes a Troupe plugin: an npm package with one plugin that works, its conformance test, types, a licence and a build.

  name     of the npm package: my-clock, @acme/my-clock; it does not decide what is made
  folder   an empty one, or one to be made; by default it is called like the package
  --kind   what the plugin is; a handler unless you say otherwise
  --help   prints this`
}

import { parseArgs } from 'node:util'
import { type CreatedPlugin, type CreatePluginOptions, createPlugin } from './create-plugin.ts'

/** What the command line knows before it has read its arguments. */
export interface CommandOptions extends Omit<CreatePluginOptions, 'name' | 'folder'> {
  /** How people call it. */
  readonly command: string
  /** The commands that come next. */
  readonly next: (plugin: CreatedPlugin) => readonly string[]
}

/** What a call came to. */
export interface CommandResult {
  readonly exitCode: 0 | 1
  readonly output: string
}

/** Makes the plugin that the arguments ask for. */
export function runCommand(args: readonly string[], { command, next, ...options }: CommandOptions): CommandResult {
  try {
    const { help, name, folder } = read(args)
    if (help) return { exitCode: 0, output: usage(command) }
    if (name === undefined) return { exitCode: 1, output: `The plugin needs a name.\n\n${usage(command)}` }
    const plugin = createPlugin({ ...options, name, ...(folder !== undefined && { folder }) })
    return { exitCode: 0, output: made(plugin, next(plugin)) }
  } catch (error) {
    return { exitCode: 1, output: error instanceof Error ? error.message : String(error) }
  }
}

function read(args: readonly string[]): { help: boolean; name?: string; folder?: string } {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h', default: false } },
  })
  const [name, folder, extra] = positionals
  if (extra !== undefined) throw new Error(`A name and a folder are enough, but there is '${extra}' too. See --help.`)
  return { ...values, ...(name !== undefined && { name }), ...(folder !== undefined && { folder }) }
}

function made({ name, folder }: CreatedPlugin, next: readonly string[]): string {
  return `Made ${name} in ${folder}: a handler that works, its test, and what npm publishes.
Write your own in ${folder}/src/index.ts. Next:

${next.map((line) => `  ${line}`).join('\n')}`
}

function usage(command: string): string {
  return `Usage: ${command} <name> [folder]

Makes a Troupe plugin: an npm package with one handler, its conformance test, types and a build.

  name     of the npm package: troupe-handler-whisper, @acme/whisper
  folder   an empty one, or one to be made; by default it is called like the package
  --help   prints this`
}

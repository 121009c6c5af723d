import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'

/** A user's machine. */
export interface Machine {
  /** Runs a command and returns its output. Contract: throws with the output if the command fails. */
  run(folder: string, command: string, ...args: string[]): Promise<string>
  /** Starts a command with more variables. Contract: the caller ends it. */
  start(folder: string, env: Record<string, string>, command: string, ...args: string[]): ChildProcessWithoutNullStreams
}

/**
 * Makes a machine: a new home folder with these npm settings, and nothing of the environment of the test.
 * Contract: it has no access to the settings, tokens or caches of the person who runs the test.
 */
export function machine(home: string, npmrc: string, env: Record<string, string>): Machine {
  mkdirSync(home, { recursive: true })
  writeFileSync(join(home, '.npmrc'), npmrc)
  const settings = { npm_config_userconfig: join(home, '.npmrc'), npm_config_globalconfig: join(home, 'global-npmrc') }
  const own = { ...env, ...settings, HOME: home, CI: '1', NO_COLOR: '1' }
  return {
    run: (folder, command, ...args) => execute(folder, own, command, args),
    start: (folder, env, command, ...args) => spawn(command, args, { cwd: folder, env: { ...own, ...env } }),
  }
}

/** Runs a command to its end. Contract: as for `Machine.run`. */
export async function execute(
  folder: string,
  env: NodeJS.ProcessEnv,
  command: string,
  args: readonly string[],
): Promise<string> {
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const exit = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  const [code, output, errors] = await Promise.all([exit, text(child.stdout), text(child.stderr)])
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}\n${output}\n${errors}`)
  return output
}

/** Makes a machine with Node and npm only: the commands of this workspace are not on its path. */
export function plainMachine(home: string, npmrc: string): Machine {
  const bin = join(home, 'bin')
  mkdirSync(bin, { recursive: true })
  symlinkSync(process.execPath, join(bin, 'node'))
  for (const command of ['npm', 'npx']) symlinkSync(find(command), join(bin, command))
  return machine(home, npmrc, { PATH: [bin, '/usr/bin', '/bin'].join(delimiter) })
}

function find(command: string): string {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const found = folders.map((folder) => join(folder, command)).find((path) => existsSync(path))
  if (found === undefined) throw new Error(`${command} is not on the path: install Node with npm.`)
  return realpathSync(found)
}

import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '..')
const { dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The version of each of the other frameworks. */
export const versions = dependencies

function isInstalled([name, version]) {
  const manifest = join(folder, 'node_modules', name, 'package.json')
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version
}

/** Installs the other frameworks from the lockfile, unless they are there; ends the process if that fails. */
export function installPeers() {
  if (Object.entries(versions).every(isInstalled)) return
  console.log('Installing the other frameworks, about 500 MB, into bench/peers/node_modules…')
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(1)
}

/** Drives an agent of Troupe through CopilotKit's runtime and the core of its front end. See README.md. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const here = import.meta.dirname
const { dependencies } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'))

function isInstalled([name, version]) {
  const manifest = join(here, 'node_modules', name, 'package.json')
  return existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version
}

if (!Object.entries(dependencies).every(isInstalled)) {
  console.log('Installing CopilotKit, about 290 MB, into tests/compat/copilotkit/node_modules…')
  const { status } = spawnSync('npm', ['ci', '--loglevel=error'], {
    cwd: here,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (status !== 0) process.exit(1)
}

// The packages read both when they are loaded.
process.env.COPILOTKIT_TELEMETRY_DISABLED = 'true'
process.env.DO_NOT_TRACK = '1'
const { runChecks } = await import('./src/run-checks.mjs')
process.exit((await runChecks()) ? 0 : 1)

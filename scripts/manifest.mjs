/**
 * Lets `npm pack` and `npm publish` do what pnpm does by itself: it merges `publishConfig` into the manifest, replaces `workspace:^`
 * by the one version of all packages, and copies the licence. `prepack` runs it with `publish`, `postpack` with `restore`.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'

const BACKUP = 'package.json.backup'

function restore() {
  if (!existsSync(BACKUP)) return
  renameSync(BACKUP, 'package.json')
  rmSync('LICENSE', { force: true })
}

restore()
if (process.argv[2] === 'publish') {
  copyFileSync('package.json', BACKUP)
  copyFileSync('../../LICENSE', 'LICENSE')
  const { publishConfig = {}, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { access, ...overrides } = publishConfig
  const text = JSON.stringify({ ...manifest, ...overrides, publishConfig: { access } }, null, 2)
  writeFileSync('package.json', `${text.replaceAll('workspace:^', `^${manifest.version}`)}\n`)
}

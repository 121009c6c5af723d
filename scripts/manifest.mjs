/**
 * Lets `npm pack` and `npm publish` do what pnpm does by itself: it merges `publishConfig` into the manifest and replaces `workspace:^`
 * by the one version of all packages. It also adds the licence, the guides and where the source is. `prepack` runs it with `publish`,
 * `postpack` with `restore`.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { packDocs, sourceFields } from './packed-docs.mjs'

const BACKUP = 'package.json.backup'

function restore() {
  if (!existsSync(BACKUP)) return
  renameSync(BACKUP, 'package.json')
  rmSync('LICENSE', { force: true })
  rmSync('docs', { recursive: true, force: true })
}

restore()
if (process.argv[2] === 'publish') {
  copyFileSync('package.json', BACKUP)
  copyFileSync('../../LICENSE', 'LICENSE')
  packDocs(process.cwd())
  const { publishConfig = {}, files, ...manifest } = JSON.parse(readFileSync('package.json', 'utf8'))
  const { access, ...overrides } = publishConfig
  const packed = {
    ...manifest,
    ...sourceFields(process.cwd()),
    ...overrides,
    files: [...files, 'docs', 'CHANGELOG.md'],
    publishConfig: { access },
  }
  const text = JSON.stringify(packed, null, 2)
  writeFileSync('package.json', `${text.replaceAll('workspace:^', `^${manifest.version}`)}\n`)
}

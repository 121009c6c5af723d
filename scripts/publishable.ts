/** Packs the package in this folder as it would be published, and checks the archive with publint and attw. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'troupe-pack-'))
try {
  const packed: { filename: string } = JSON.parse(
    execFileSync('pnpm', ['pack', '--config.ignore-scripts=true', '--json', '--pack-destination', folder], {
      encoding: 'utf8',
    }),
  )
  execFileSync('publint', ['--strict', packed.filename], { stdio: 'inherit' })
  execFileSync('attw', ['--profile', 'esm-only', packed.filename], { stdio: 'inherit' })
} finally {
  rmSync(folder, { recursive: true })
}

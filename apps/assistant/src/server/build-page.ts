import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { glob, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const APP = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = join(APP, 'page')
const DIST = join(APP, 'dist')
/** What the page is built from besides: sources in the repository. */
const CLIENT = fileURLToPath(new URL('./browser', import.meta.resolve('@troupe/ag-ui/client')))
const PARTS = fileURLToPath(new URL('.', import.meta.resolve('@troupe/react')))
const DAY_MS = 86_400_000

/**
 * Returns the folder of the built page, and builds it first unless a build of the same sources exists.
 * Contract: needs no network; several processes may call it at once.
 */
export async function buildPage(print: (text: string) => void): Promise<string> {
  const folder = join(DIST, `page-${await stampOfSources()}`)
  if (existsSync(folder)) return folder
  print('building the page…')
  const { build } = await import('vite')
  const outDir = join(DIST, `building-${process.pid}`)
  await build({ root: PAGE, configFile: join(PAGE, 'vite.config.ts'), logLevel: 'warn', build: { outDir } })
  try {
    await rename(outDir, folder)
  } catch (error) {
    await rm(outDir, { recursive: true, force: true })
    // Another process was faster and has built the same.
    if (!existsSync(folder)) throw error
  }
  await removeOld(folder)
  return folder
}

async function stampOfSources(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(join(APP, 'package.json')))
  for (const cwd of [PAGE, CLIENT, PARTS]) {
    const paths = await Array.fromAsync(glob('**/*.{ts,tsx,js,css,html,svg,json}', { cwd }))
    for (const path of paths.sort()) hash.update(path).update(await readFile(join(cwd, path)))
  }
  return hash.digest('hex').slice(0, 16)
}

/** Removes old builds. Contract: a build of today stays, because another process may serve it. */
async function removeOld(current: string): Promise<void> {
  const before = Date.now() - DAY_MS
  for (const name of await readdir(DIST)) {
    const folder = join(DIST, name)
    const { mtimeMs } = await stat(folder).catch(() => ({ mtimeMs: before }))
    if (folder !== current && mtimeMs < before) await rm(folder, { recursive: true, force: true })
  }
}

import { execFileSync } from 'node:child_process'
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const here = join(import.meta.dirname, '..')

/** The folder in which Troupe is installed for the bench. */
export const troupeFolder = join(here, 'node_modules/.cache/troupe')
const shell = process.platform === 'win32'

/** The size of one package in bytes, without the packages inside it. */
function bytes(folder) {
  let sum = 0
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) sum += entry.name === 'node_modules' ? 0 : bytes(path)
    else if (entry.isFile()) sum += lstatSync(path).size
  }
  return sum
}

/** The path in the lockfile at which Node finds a dependency of a package. */
function placeOf(packages, from, name) {
  for (let at = from; ; ) {
    const place = `${at ? `${at}/` : ''}node_modules/${name}`
    if (packages[place]) return place
    if (!at) return undefined
    const up = at.lastIndexOf('/node_modules/')
    at = up < 0 ? '' : at.slice(0, up)
  }
}

/** Counts the installed packages that these packages need, including themselves, and their size. */
export function installed(folder, names) {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  const seen = new Set()
  const open = names.map((name) => placeOf(packages, '', name))
  while (open.length > 0) {
    const place = open.pop()
    if (!place || seen.has(place)) continue
    seen.add(place)
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta = {} } = packages[place]
    const peers = Object.keys(peerDependencies ?? {}).filter((name) => !peerDependenciesMeta[name]?.optional)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers])
      open.push(placeOf(packages, place, name))
  }
  const present = [...seen].filter((place) => lstatSync(join(folder, place), { throwIfNoEntry: false }))
  return { packages: present.length, mb: present.reduce((sum, place) => sum + bytes(join(folder, place)), 0) / 1e6 }
}

/** Packs our packages as for a release and installs them into an empty folder, because inside the workspace they would use each other's sources. */
export function installTroupe(names) {
  rmSync(troupeFolder, { recursive: true, force: true })
  mkdirSync(troupeFolder, { recursive: true })
  for (const name of names) {
    const cwd = join(here, '../../packages', name.replace('@troupe/', ''))
    const args = ['pack', '--config.ignore-scripts=true', '--pack-destination', troupeFolder]
    execFileSync('pnpm', args, { cwd, shell, stdio: 'pipe' })
  }
  const tarballs = readdirSync(troupeFolder).map((file) => `./${file}`)
  writeFileSync(join(troupeFolder, 'package.json'), '{ "private": true }')
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', ...tarballs], {
    cwd: troupeFolder,
    shell,
    stdio: 'pipe',
  })
}

/** Measures the wall-clock milliseconds to import the packages of a side in a fresh process. */
export function importTime(imports, env) {
  const probe = `const start = performance.now()
for (const name of ${JSON.stringify(imports)}) await import(name)
const took = performance.now() - start
process.stdout.write('\\n' + took, () => process.exit(0))`
  const args = ['--input-type=module', '--eval', probe]
  const out = execFileSync(process.execPath, args, {
    cwd: here,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return Number(out.trim().split('\n').at(-1))
}

/** Runs the programs of docs/coming-from that are written with the other frameworks, and compares what they print with the page. See README.md. */
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { installPeers, versions } from './src/install-peers.mjs'
import { quiet } from './src/sides.mjs'

const here = import.meta.dirname
const pages = join(here, '../../docs/coming-from')

/** The block of a page that shows what its programs print. */
function printedOn(page) {
  return /^```text\n(.*?)^```/ms.exec(readFileSync(join(pages, page), 'utf8'))?.[1]
}

/** Runs one program, and returns whether it printed what its page says. */
function check(file) {
  const name = basename(file, '.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', join(here, file)], {
    env: { ...process.env, ...quiet },
    encoding: 'utf8',
    timeout: 60_000,
  })
  const expected = printedOn(`${name}.md`)
  const holds = status === 0 && stdout === expected
  console.log(`${holds ? '✔' : '✘'} ${name}`)
  if (!holds) console.log(`expected:\n${expected}\nprinted:\n${stdout}\n${stderr}`)
  return holds
}

installPeers()
console.log(
  Object.entries(versions)
    .map((version) => version.join(' '))
    .join(', '),
)
const results = globSync('src/coming-from/*.mjs', { cwd: here }).sort().map(check)
if (results.length === 0 || results.includes(false)) process.exit(1)

import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { importTime, installed, installTroupe, troupeFolder } from './footprint.mjs'
import { machine } from './machine.mjs'
import { quiet, sides } from './sides.mjs'

const here = join(import.meta.dirname, '..')
const env = { ...process.env, ...quiet }

function lastLine(args) {
  const out = execFileSync(process.execPath, args, { cwd: here, env, encoding: 'utf8', maxBuffer: 1e8 })
  return JSON.parse(out.trim().split('\n').at(-1))
}

/** The imports and packages of a side; read in another process, so that this one loads no framework. */
function needsOf(name) {
  const probe = `const { imports, packages } = await import('./src/sides/${name}.mjs')
process.stdout.write('\\n' + JSON.stringify({ imports, packages }), () => process.exit(0))`
  return lastLine(['--input-type=module', '--eval', probe])
}

/** Measures every side in fresh processes, in several repetitions that start with another side each; `save` gets the results after each repetition. */
export function measureAll({ repetitions, times, save }) {
  installTroupe(['@troupe/kernel', '@troupe/chat-model', '@troupe/flow'])
  const names = Object.keys(sides)
  const needs = Object.fromEntries(names.map((name) => [name, needsOf(name)]))
  const worker = (name, part) => lastLine([join(here, 'src/worker.mjs'), name, part, JSON.stringify(times)])
  const sizes = {}
  for (const name of names) {
    const { packages } = needs[name]
    if (packages.length > 0) sizes[name] = installed(name === 'troupe' ? troupeFolder : here, packages)
  }
  const loads = [loadavg()[0]]
  const rounds = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const round = {}
    for (const name of names.map((_, i) => names[(i + repetition) % names.length])) {
      const started = performance.now()
      round[name] = { ...worker(name, 'sequence'), ...worker(name, 'concurrent') }
      if (needs[name].imports.length > 0) round[name].import = importTime(needs[name].imports, env)
      const took = (performance.now() - started) / 1_000
      console.log(`${repetition + 1} of ${repetitions}: ${sides[name]}, ${took.toFixed(1)} s`)
    }
    rounds.push(round)
    loads.push(loadavg()[0])
    save({ rounds, sizes, loads, times, machine: machine() })
  }
}

import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { installTroupe } from '../footprint.mjs'
import { machine } from '../machine.mjs'
import { quiet } from '../sides.mjs'
import { LENGTHS, storedSides } from './stored-sides.mjs'

/** Measures turns of every side on threads of each length, in fresh processes, in several repetitions that start with another side each. */
export function measureStorage({ repetitions, roundMs }) {
  installTroupe(['@troupe/kernel', '@troupe/chat-model', '@troupe/flow', '@troupe/store-sqlite'])
  const env = { ...process.env, ...quiet }
  const turns = (side, length) => {
    const args = [
      '--no-warnings',
      join(import.meta.dirname, 'turns.mjs'),
      String(side),
      String(length),
      String(roundMs),
    ]
    const out = execFileSync(process.execPath, args, { env, encoding: 'utf8', maxBuffer: 1e8 })
    return JSON.parse(out.trim().split('\n').at(-1))
  }
  const order = [...storedSides.keys()]
  const loads = [loadavg()[0]]
  const rounds = []
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const round = []
    for (const side of order.map((_, i) => order[(i + repetition) % order.length])) {
      round[side] = LENGTHS.map((length) => turns(side, length))
      console.log(`${repetition + 1} of ${repetitions}: ${storedSides[side].name}`)
    }
    rounds.push(round)
    loads.push(loadavg()[0])
  }
  return { rounds, loads, roundMs, machine: machine() }
}

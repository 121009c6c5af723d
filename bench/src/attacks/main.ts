/** Measures the memory that clients without manners can make a server use: `pnpm bench:attacks`. */
import { ATTACKS } from './attacks.ts'
import { measureAttack } from './measure-attack.ts'

/** Twenty sockets on a thread of 54 MB, ten lists of 400 threads with 256 KiB of state each. */
const SIZE = { chars: 54_000_000, sockets: 20, threads: 400, stateChars: 262_144 }
const MOST_MB = 64

console.log('| attack, MB over idle | held | highest in use | highest RSS, with a heap of 48 MB |\n|---|---|---|---|')
const wrong: string[] = []
for (const attack of ATTACKS) {
  const small = await measureAttack(attack, SIZE, 'small heap')
  const { heldMb, liveMb, answered } = await measureAttack(attack, SIZE, 'collecting')
  const cells = [heldMb, liveMb, small.rssMb].map((mb) => mb.toFixed(1))
  console.log(`| ${attack.paths(SIZE).length} ${attack.name} | ${cells.join(' | ')} |`)
  const least = Math.min(answered, small.answered)
  if (least !== attack.paths(SIZE).length) wrong.push(`${attack.name}: only ${least} answers`)
  if (Math.max(heldMb, liveMb, small.rssMb) > MOST_MB) wrong.push(`${attack.name}: more than ${MOST_MB} MB`)
}
console.log(wrong.length === 0 ? '\nok' : `\nFAIL\n${wrong.join('\n')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

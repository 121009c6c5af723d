/** Measures the memory that clients without manners can make a server use: `pnpm bench:attacks`. */
import { ATTACKS } from './attacks.ts'
import { measureAttack } from './measure-attack.ts'

/** Twenty sockets on a thread of 54 MB, ten lists of 400 threads with 256 KiB of state each. */
const SIZE = { chars: 54_000_000, sockets: 20, threads: 400, stateChars: 262_144 }
const MOST_MB = 64
/** Node collects buffers that nobody uses when there are 64 MB of them. */
const MOST_RSS_MB = 2 * MOST_MB

console.log('| attack, MB over idle | held | highest in use | highest RSS |\n|---|---|---|---|')
const wrong: string[] = []
for (const attack of ATTACKS) {
  const { rssMb } = await measureAttack(attack, SIZE, 'as usual')
  const { heldMb, liveMb, answered } = await measureAttack(attack, SIZE, 'collecting')
  const cells = [heldMb, liveMb, rssMb].map((mb) => mb.toFixed(1))
  console.log(`| ${attack.paths(SIZE).length} ${attack.name} | ${cells.join(' | ')} |`)
  if (answered !== attack.paths(SIZE).length) wrong.push(`${attack.name}: only ${answered} answers`)
  if (Math.max(heldMb, liveMb) > MOST_MB) wrong.push(`${attack.name}: more than ${MOST_MB} MB`)
  if (rssMb > MOST_RSS_MB) wrong.push(`${attack.name}: RSS of more than ${MOST_RSS_MB} MB`)
}
console.log(wrong.length === 0 ? '\nok' : `\nFAIL\n${wrong.join('\n')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

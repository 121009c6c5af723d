import { expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { measureAttack } from './measure-attack.ts'

/** A sixth of what `pnpm bench:attacks` does, with less than half of its bound. */
const SIZE = { chars: 9_000_000, sockets: 20, threads: 70, stateChars: 262_144 }
const MOST_MB = 24

test.each(ATTACKS)(
  '$name: memory stays bounded',
  async (attack) => {
    const { heldMb, liveMb, answered } = await measureAttack(attack, SIZE, 'collecting')
    expect(answered).toBe(attack.paths(SIZE).length)
    expect(Math.max(heldMb, liveMb)).toBeLessThan(MOST_MB)
  },
  120_000,
)

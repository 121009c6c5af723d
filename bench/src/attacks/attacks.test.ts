import { expect, test } from 'vitest'
import { ATTACKS } from './attacks.ts'
import { measureAttack } from './measure-attack.ts'

/** A small part of what `pnpm bench:attacks` does, with less than half of its bound; what is not bounded takes 70 MB. */
const SIZE = { chars: 6_000_000, sockets: 12, threads: 45, stateChars: 262_144 }
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

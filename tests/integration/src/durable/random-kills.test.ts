import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Composition } from './composition.fixture.ts'
import type { KillAt } from './killable.fixture.ts'
import { KilledConversation, NO_GAPS, type Reading } from './killed-conversation.fixture.ts'
import { composition } from './random-composition.fixture.ts'
import { wrongWith } from './same-as-alone.fixture.ts'
import { wrongAfterSettling } from './settled.fixture.ts'

/** `SEED=17 RUNS=500` searches elsewhere; without them the same compositions are checked each time. */
const { SEED = '1', RUNS = '20' } = process.env
const SEARCH = { seed: Number(SEED), numRuns: Number(RUNS), endOnFailure: process.env.SHRINK !== '1' }

async function check(made: Composition, kills: readonly KillAt[], reading: Reading = {}): Promise<void> {
  const killed = await new KilledConversation(made, kills, NO_GAPS, reading).hold()
  expect(await wrongWith(killed, made), JSON.stringify([kills, reading])).toEqual([])
}

test('whoever continues a run right after a write need not know what was shown', async () => {
  await fc.assert(
    fc.asyncProperty(composition, async (any) => {
      const made = oneByOne(any)
      const alone = await new KilledConversation(made).hold()
      for (let write = 1; write <= alone.world.writes.length; write++) {
        await check(made, [{ write, done: true }], { known: false })
      }
    }),
    SEARCH,
  )
}, 600_000)

/** The same composition, with one thing at a time. Contract: an agent without steps of its own has none inside it. */
function oneByOne(made: Composition): Composition {
  const text = JSON.stringify(made).replaceAll(/"calls":\[("[^"]+"),[^\]]+\]/g, '"calls":[$1]')
  const sequential = text.replaceAll('"parallel"', '"sequential"').replaceAll('"both"', '"Inner"')
  return JSON.parse(sequential.replaceAll(/"(?:delegate|performer)"/g, '"talker"'))
}

test('a new message settles a run that was killed', async () => {
  await fc.assert(
    fc.asyncProperty(composition, fc.boolean(), async (made, done) => {
      const alone = await new KilledConversation(made).hold()
      for (let write = 1; write <= alone.world.writes.length; write++) {
        const killed = await new KilledConversation(made, [{ write, done }], NO_GAPS, { abandoned: true }).hold()
        expect(await wrongAfterSettling(killed), JSON.stringify([write, done])).toEqual([])
      }
    }),
    SEARCH,
  )
}, 600_000)

test('a run that is killed anywhere and continued is the run left alone', async () => {
  await fc.assert(
    fc.asyncProperty(composition, fc.array(fc.nat(1_000), { minLength: 4, maxLength: 12 }), async (made, points) => {
      const alone = await new KilledConversation(made).hold()
      for (const [i, point] of points.entries()) {
        const tick = 1 + (point % Math.max(1, alone.world.ticks))
        const kills = [tick, ...points.slice(0, i % 3).map((more) => tick + more)]
        await check(
          made,
          kills.toSorted((a, b) => a - b).map((at) => ({ tick: at })),
          { lag: i % 4 },
        )
      }
    }),
    SEARCH,
  )
}, 600_000)

test('a run that is killed at any write and continued is the run left alone', async () => {
  await fc.assert(
    fc.asyncProperty(composition, fc.array(fc.nat(3), { maxLength: 2 }), async (made, more) => {
      const alone = await new KilledConversation(made).hold()
      for (let write = 1; write <= alone.world.writes.length; write++) {
        for (const done of [false, true]) {
          const again = more.map((n, i): KillAt => ({ write: write + 1 + i * 3 + n, done: n % 2 === 0 }))
          await check(made, [{ write, done }, ...again], { lag: write % 3 })
        }
      }
    }),
    SEARCH,
  )
}, 600_000)

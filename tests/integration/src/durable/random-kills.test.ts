import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Composition } from './composition.fixture.ts'
import type { KillAt } from './killable.fixture.ts'
import { KilledConversation, NO_GAPS, type Reading } from './killed-conversation.fixture.ts'
import { composition } from './random-composition.fixture.ts'
import { wrongWith } from './same-as-alone.fixture.ts'
import { wrongAfterSettling } from './settled.fixture.ts'

/** `SEED=17 RUNS=500` searches elsewhere, however long it takes; without them the same compositions are checked each time. */
const { RUNS, SEED = '1' } = process.env
const SECONDS = 4

/** Checks random compositions, for some seconds at most. */
function holds<Args extends [unknown, ...unknown[]]>(property: fc.IAsyncProperty<Args>): Promise<void> {
  return fc.assert(property, {
    seed: Number(SEED),
    ...(RUNS === undefined
      ? { numRuns: 60, interruptAfterTimeLimit: SECONDS * 1_000 }
      : { numRuns: Number(RUNS), endOnFailure: true }),
  })
}

async function goesOn(made: Composition, kills: readonly KillAt[], reading: Reading = {}): Promise<void> {
  const killed = await new KilledConversation(made, kills, NO_GAPS, reading).hold()
  expect(await wrongWith(killed, made), JSON.stringify([kills, reading])).toEqual([])
}

/** The numbers of the writes of a conversation that is left alone. */
async function writesOf(made: Composition): Promise<readonly number[]> {
  const { world } = await new KilledConversation(made).hold()
  return world.writes.map((_, i) => i + 1)
}

const TIMEOUT = RUNS === undefined ? 60_000 : 3_600_000

test(
  'a run that is killed at any write, up to three times, and continued is the run left alone',
  async () => {
    const further = fc.array(fc.nat(3), { maxLength: 2 })
    await holds(
      fc.asyncProperty(composition, further, async (made, more) => {
        for (const write of await writesOf(made)) {
          const again = more.map((n, i): KillAt => ({ write: write + 1 + i * 3 + n, done: n % 2 === 0 }))
          await goesOn(made, [{ write, done: false }, ...again], { lag: write % 3 })
          await goesOn(made, [{ write, done: true }, ...again], { lag: write % 3 })
        }
      }),
    )
  },
  TIMEOUT,
)

test(
  'a run that is killed between its writes, up to three times, and continued is the run left alone',
  async () => {
    const points = fc.array(fc.nat(1_000), { minLength: 4, maxLength: 12 })
    await holds(
      fc.asyncProperty(composition, points, async (made, ticks) => {
        const { world } = await new KilledConversation(made).hold()
        for (const [i, point] of ticks.entries()) {
          const first = 1 + (point % Math.max(1, world.ticks))
          const all = [first, ...ticks.slice(0, i % 3).map((more) => first + more)].toSorted((a, b) => a - b)
          const kills = all.map((tick) => ({ tick }))
          await goesOn(made, kills, { lag: i % 4 })
        }
      }),
    )
  },
  TIMEOUT,
)

test(
  'whoever continues a run right after a write need not know what was shown',
  async () => {
    await holds(
      fc.asyncProperty(composition.map(oneByOne), async (made) => {
        for (const write of await writesOf(made)) await goesOn(made, [{ write, done: true }], { known: false })
      }),
    )
  },
  TIMEOUT,
)

test(
  'a new message settles a run that was killed at any write: what was done is in the history, and nothing is done',
  async () => {
    await holds(
      fc.asyncProperty(composition.map(withoutSchemas), fc.boolean(), async (made, done) => {
        for (const write of await writesOf(made)) {
          const killed = await new KilledConversation(made, [{ write, done }], NO_GAPS, { abandoned: true }).hold()
          expect(await wrongAfterSettling(killed), JSON.stringify([write, done])).toEqual([])
        }
      }),
    )
  },
  TIMEOUT,
)

/** The same composition, with answers that need not fit a schema: one that does not fit is in no history. */
function withoutSchemas(made: Composition): Composition {
  return JSON.parse(JSON.stringify(made).replaceAll('"structured":true', '"structured":false'))
}

/** The same composition, with one thing at a time. Contract: an agent without steps of its own has none inside it. */
function oneByOne(made: Composition): Composition {
  const text = JSON.stringify(made).replaceAll(/"calls":\[("[^"]+"),[^\]]+\]/g, '"calls":[$1]')
  const sequential = text.replaceAll('"parallel"', '"sequential"').replaceAll('"both"', '"Inner"')
  return JSON.parse(sequential.replaceAll(/"(?:delegate|performer)"/g, '"talker"'))
}

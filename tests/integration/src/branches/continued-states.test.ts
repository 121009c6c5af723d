import { expect, it } from 'vitest'
import { ANN, read, world } from '../durable/killable.fixture.ts'
import { expectedLines, heldFurther, linesOf, type Program, programAgent } from './held-conversation.fixture.ts'

const PROGRAM: Program = [
  [
    { tool: 'put', key: 'a', value: 1 },
    { tool: 'put', key: 'b', value: 2 },
  ],
  [
    { tool: 'look', key: 'a', value: 0 },
    { tool: 'drop', key: 'a', value: 0 },
  ],
  [{ tool: 'put', key: 'b', value: 3 }],
]

it('a run that was killed at any write and continued has the same state at each message', async () => {
  // A journal in memory does not copy the values that it keeps.
  const agent = () => programAgent({ inPlace: false })
  let continued = 0
  for (let write = 1; ; write++) {
    const here = world()
    const one = here.start(agent(), {}, { write, done: true })
    const asked = one.runner.query(JSON.stringify(PROGRAM), { session: ANN })
    await read(asked.eventsWithoutThrowing(), one)
    here.expire()
    const two = here.start(agent())
    const [lost] = await two.runner.lost()
    if (lost) {
      await two.runner.continue(ANN)
      continued++
    }
    expect(await linesOf(here.store, ANN)).toEqual(expectedLines(heldFurther([], PROGRAM)))
    if (one.alive) break
  }
  expect(continued).toBeGreaterThan(5)
})

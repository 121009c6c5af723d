import { describe, expect, it } from 'vitest'
import { broken, expectBroken } from '../suite/broken.fixture.ts'
import { isInside } from './inside-step.ts'
import { asking, replayMutants, soundAgents } from './replay-mutants.fixture.ts'
import { replayClauses, testReplay } from './test-replay.ts'

for (const [name, make] of Object.entries(soundAgents)) testReplay(name, make)

const answer = () => ({ q1: true })
testReplay('an agent that asks', () => asking(), { answer })

describe('testReplay', () => {
  it('holds for sound agents', async () => {
    for (const make of Object.values(soundAgents)) expect(await broken(replayClauses(make))).toEqual([])
  })

  for (const [wrong, { make, caught, says }] of Object.entries(replayMutants)) {
    it(`notices that ${wrong}`, async () => {
      const complaints = await expectBroken(replayClauses(make), [caught], 1_000)
      expect(complaints.get(caught)).toMatch(says)
    })
  }

  it('notices what is wrong with a resumed run, and only with that', async () => {
    const clauses = replayClauses(() => asking(() => `${Math.random()}`), { answer })
    const complaints = await expectBroken(clauses, [
      'the resumed run replayed whole shows the same, and nothing is done again',
    ])
    expect([...complaints.keys()].filter((name) => name.startsWith('a run'))).toEqual([])
  })

  it('says that a run which should be resumed asked nothing', async () => {
    const make = soundAgents['an agent of two steps']
    if (!make) throw new Error('there is no such agent')
    const complaints = await expectBroken(replayClauses(make, { answer }), [])
    expect([...complaints.values()][0]).toContain('though testReplay was given an `answer`')
  })

  it('says that the factory is at fault if it gives no agent', async () => {
    const complaints = await expectBroken(
      replayClauses(() => undefined as never),
      [],
    )
    expect([...complaints.values()][0]).toMatch(/^make\(\) gave undefined, which is not an agent/)
  })
})

it.each<[string, string, boolean]>([
  ['tool:0:0/', 'tool:0:0', true],
  ['tool:0:0.2/', 'tool:0:0', true],
  ['tool:0:0/tool:1:0/', 'tool:0:0', true],
  ['tool:0:1/', 'tool:0:0', false],
  ['tool:0:0', 'tool:0:0', false],
  ['tool:0:0/model:0', 'agent', true],
  ['tool:0:0/', 'tool:0:0/agent', false],
  ['tool:0:0/tool:0:0/', 'tool:0:0/agent', true],
  ['agent', 'agent', false],
  ['', 'agent', false],
  ['model:1', 'model:0', false],
])('what begins with %o is inside of %o: %o', (name, step, inside) => {
  expect(isInside(name, [step])).toBe(inside)
})

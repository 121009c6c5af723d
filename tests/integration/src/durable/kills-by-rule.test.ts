import { describe, expect, test } from 'vitest'
import type { ChatSpec, Composition, Spec } from './composition.fixture.ts'
import type { KillAt } from './killable.fixture.ts'
import { KilledConversation, NO_GAPS, type Reading } from './killed-conversation.fixture.ts'
import { wrongWith } from './same-as-alone.fixture.ts'
import type { Turn } from './scripted-answers.fixture.ts'
import { wrongAfterSettling } from './settled.fixture.ts'

const turn = (...calls: readonly string[]): Turn => ({ words: 1, calls })
const chat = (turns: readonly Turn[], more: Partial<ChatSpec> = {}): ChatSpec => {
  return { kind: 'chat', turns, pace: 1, callIds: 'own', handlers: [], concurrency: 8, children: [], ...more }
}
const composed = (root: Spec, inner: Spec = chat([])): Composition => ({ root, inner, sub: chat([turn()]) })
const after = (write: number): KillAt => ({ write, done: true })
const before = (write: number): KillAt => ({ write, done: false })

describe('a run that is killed and continued', () => {
  const rules: [string, Composition, readonly KillAt[], Reading?][] = [
    [
      'keeps what a wrap of a model call wrote to the state',
      composed(chat([turn()], { handlers: ['wraps'] })),
      [after(2)],
    ],
    [
      'shows an event of a tool that a slow reader had not seen',
      composed(chat([turn('shouts')])),
      [after(3)],
      { lag: 3 },
    ],
    [
      'counts the tokens of the runs inside an agent that was done',
      composed({ kind: 'delegate', children: [chat([turn('Hidden')])] }),
      [after(5)],
    ],
    [
      'takes back a change of the state that readers have seen, if the call is not made again',
      composed(chat([turn('countsOnce', 'pure')])),
      [before(4)],
    ],
    [
      'keeps the ids of calls that two branches have given the same id',
      composed({
        kind: 'parallel',
        children: [
          chat([turn('pure', 'pure', 'pure')], { callIds: 'same' }),
          chat([{ words: 2, calls: ['pure'] }], { callIds: 'same' }),
        ],
      }),
      [after(3)],
    ],
    [
      'counts a call towards a limit that was answered by a person before',
      composed(chat([turn('asks', 'pure', 'pure'), turn('pure')], { handlers: ['limits'] })),
      [after(8)],
    ],
    [
      'keeps the order of branches inside an agent that was done',
      composed({
        kind: 'delegate',
        children: [{ kind: 'parallel', children: [chat([turn('pure')]), chat([turn()], { pace: 0 })] }],
      }),
      [before(7)],
    ],
    [
      'does not ask again what runs beside each other have asked in another order',
      composed(
        { kind: 'delegate', children: [chat([turn('both')], { pace: 0 })] },
        { kind: 'parallel', children: [chat([turn('asks')]), chat([turn('pure')], { pace: 0 })] },
      ),
      [before(14)],
      { lag: 2 },
    ],
  ]

  test.each(rules)('%s', async (_, made, kills, reading = {}) => {
    const killed = await new KilledConversation(made, kills, NO_GAPS, reading).hold()
    expect(await wrongWith(killed, made)).toEqual([])
  })

  test.each([2, 3, 4])('after write %i shows what follows, for whoever does not know what was shown', async (write) => {
    const made = composed(chat([turn('streams')]))
    const killed = await new KilledConversation(made, [after(write)], NO_GAPS, { known: false }).hold()
    expect(await wrongWith(killed, made)).toEqual([])
  })
})

describe('a new message keeps what a run has done that was killed', () => {
  const rules: [string, Composition, KillAt][] = [
    [
      'inside an agent that records no steps itself',
      composed({ kind: 'delegate', children: [chat([turn('once')])] }),
      after(3),
    ],
    [
      'in a branch that is slower than the others',
      composed({
        kind: 'parallel',
        children: [chat([turn('once')], { handlers: ['waits'] }), chat([turn('safe'), turn('safe')])],
      }),
      after(5),
    ],
  ]

  test.each(rules)('%s', async (_, made, kill) => {
    const killed = await new KilledConversation(made, [kill], NO_GAPS, { abandoned: true }).hold()
    expect(await wrongAfterSettling(killed)).toEqual([])
  })
})

import fc from 'fast-check'
import type { ChatSpec, Composition, Spec } from './composition.fixture.ts'
import { CUSTOM_KINDS } from './custom-agents.fixture.ts'
import type { Script, Turn } from './scripted-answers.fixture.ts'
import { HANDLER_NAMES } from './scripted-handlers.fixture.ts'
import { PLAIN_TOOLS } from './scripted-tools.fixture.ts'

const plainCall = fc.constantFrom(...PLAIN_TOOLS)
const anyCall = fc.oneof(
  { weight: 8, arbitrary: plainCall },
  { weight: 3, arbitrary: fc.constantFrom('Inner', 'Hidden', 'both', 'sub', 'inside') },
  { weight: 3, arbitrary: fc.constantFrom('#0', '#1', '#2') },
  { weight: 1, arbitrary: fc.constantFrom('exit', 'respond', 'unknown') },
)

const turnOf = (call: fc.Arbitrary<string>): fc.Arbitrary<Turn> =>
  fc.record({
    words: fc.integer({ min: 1, max: 4 }),
    calls: fc.array(call, { maxLength: 3 }),
    fails: fc.nat(30).map((n) => n === 30),
    flaky: fc.nat(6).map((n) => n === 6),
  })

const scriptOf = (call: fc.Arbitrary<string>, most: number): fc.Arbitrary<Script> =>
  fc.record({
    turns: fc.array(turnOf(call), { minLength: 1, maxLength: most }),
    pace: fc.nat(2),
    callIds: fc.constantFrom<Script['callIds']>('own', 'own', 'none', 'same'),
  })

const chatOf = (call: fc.Arbitrary<string>, most: number, children: fc.Arbitrary<Spec[]>): fc.Arbitrary<ChatSpec> =>
  fc
    .record({
      script: scriptOf(call, most),
      handlers: fc.subarray([...HANDLER_NAMES], { maxLength: 2 }),
      concurrency: fc.constantFrom(8, 8, 1, 2),
      structured: fc.nat(6).map((n) => n === 6),
      children,
    })
    .map(({ script, ...rest }) => ({ kind: 'chat', ...script, ...rest }))

const specs = fc.letrec<{ spec: Spec; composed: Spec; chat: Spec; custom: Spec }>((tie) => ({
  spec: fc.oneof(
    { maxDepth: 2, depthIdentifier: 'spec' },
    { weight: 3, arbitrary: tie('chat') },
    { weight: 1, arbitrary: tie('custom') },
    { weight: 5, arbitrary: tie('composed') },
  ),
  composed: fc.oneof(
    fc.record({
      kind: fc.constantFrom('sequential', 'parallel', 'parallel', 'loop', 'supervisor', 'planExecute'),
      children: fc.array(tie('spec'), { minLength: 1, maxLength: 3, depthIdentifier: 'spec' }),
    }),
    chatOf(anyCall, 3, fc.array(tie('spec'), { minLength: 1, maxLength: 2, depthIdentifier: 'spec' })),
  ),
  chat: chatOf(anyCall, 3, fc.constant([])),
  custom: fc.record({
    kind: fc.constantFrom(...CUSTOM_KINDS),
    children: fc.array(fc.oneof(tie('chat'), tie('spec')), { minLength: 1, maxLength: 1, depthIdentifier: 'spec' }),
  }),
}))

/**
 * A composition. Contract: where agents run beside each other, nothing fails and no ids of calls are the same, because how far
 * the others come, and who keeps an id, depends on timing.
 */
export const composition: fc.Arbitrary<Composition> = fc
  .record({
    root: specs.spec,
    inner: fc.oneof(
      { weight: 3, arbitrary: chatOf(plainCall, 2, fc.constant([])) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constantFrom('sequential', 'parallel'),
          children: fc.array(chatOf(plainCall, 1, fc.constant([])), { minLength: 1, maxLength: 2 }),
        }),
      },
    ),
    // Its model has none to fall back on.
    sub: scriptOf(plainCall, 2).map((script) => ({
      ...script,
      turns: script.turns.map((turn) => ({ ...turn, flaky: false })),
    })),
  })
  .map((made) => {
    const text = JSON.stringify(made)
    if (!text.includes('parallel') && !text.includes('both')) return made
    return JSON.parse(
      text
        .replaceAll('"throws"', '"fails"')
        .replaceAll('"fails":true', '"fails":false')
        .replaceAll('"same"', '"none"')
        .replaceAll('"structured":true', '"structured":false'),
    )
  })

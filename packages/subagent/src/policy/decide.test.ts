import type { ToolKind } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Decision, decide, type PolicyCall } from './decide.ts'
import type { PolicyEffect, PolicyRule } from './rule.ts'

const call = (more: Partial<PolicyCall> = {}): PolicyCall => ({
  path: ['a'],
  tool: 't',
  kind: 'write',
  args: {},
  ...more,
})

describe('without a rule', () => {
  test.each([
    ['read', 'allow'],
    ['think', 'allow'],
    ['write', 'ask'],
    ['execute', 'ask'],
    ['something new', 'ask'],
  ])('%s: %s', (kind, effect) => {
    for (const path of [[], ['a'], ['a', 'b']]) {
      const agent = path.slice(0, effect === 'ask' ? 1 : 9).join('/')
      expect(decide([], call({ path, kind: kind as ToolKind }))).toEqual({ effect, by: 'default', agent })
    }
  })
})

describe('deny > ask > allow', () => {
  const [deny, ask, allow] = (['deny', 'ask', 'allow'] as const).map(
    (effect): PolicyRule => ({ effect, reason: effect }),
  )
  test('whatever the order, and names the rule', () => {
    expect(decide([allow, ask, deny] as PolicyRule[], call())).toEqual({
      effect: 'deny',
      by: 'rule',
      rule: 2,
      agent: 'a',
      reason: 'deny',
    })
    expect(decide([deny, allow] as PolicyRule[], call())).toMatchObject({ effect: 'deny', rule: 0 })
    expect(decide([allow, ask] as PolicyRule[], call({ kind: 'read' }))).toMatchObject({ effect: 'ask', rule: 1 })
    expect(decide([allow] as PolicyRule[], call())).toMatchObject({ effect: 'allow', by: 'rule', rule: 0 })
  })
})

describe("a child's rights are within its parent's", () => {
  test('an allow for a/b does not hold where a would be asked or denied', () => {
    const rule: PolicyRule = { effect: 'allow', agent: 'a/b' }
    expect(decide([rule], call({ path: ['a', 'b'] }))).toEqual({ effect: 'ask', by: 'default', agent: 'a' })
    expect(decide([rule, { effect: 'deny', agent: 'a' }], call({ path: ['a', 'b'] }))).toMatchObject({
      effect: 'deny',
      agent: 'a',
    })
  })

  test('an allow for a and all below holds for all of them', () => {
    for (const path of [['a'], ['a', 'b'], ['a', 'b', 'c']]) {
      expect(decide([{ effect: 'allow', agent: 'a/**' }], call({ path })).effect).toBe('allow')
    }
  })

  test('an allow that depends on arguments holds for the child where it holds for the parent', () => {
    const rules: PolicyRule[] = [
      { effect: 'allow', agent: 'a', args: { path: { glob: 'src/**' } } },
      { effect: 'allow', agent: 'a/b' },
    ]
    expect(decide(rules, call({ path: ['a', 'b'], args: { path: 'src/x' } })).effect).toBe('allow')
    expect(decide(rules, call({ path: ['a', 'b'], args: { path: 'x' } })).effect).toBe('ask')
  })

  test('a child may have less', () => {
    const rules: PolicyRule[] = [{ effect: 'allow' }, { effect: 'deny', agent: 'a/b' }]
    expect([['a'], ['a', 'b']].map((path) => decide(rules, call({ path })).effect)).toEqual(['allow', 'deny'])
  })

  test('the default of the main agent does not apply to the agents below, its rules do', () => {
    const allow: PolicyRule = { effect: 'allow', agent: 'a' }
    expect(decide([allow], call()).effect).toBe('allow')
    expect(decide([allow], call({ path: [] })).effect).toBe('ask')
    expect(decide([allow, { effect: 'ask', agent: '' }], call())).toMatchObject({ effect: 'ask', agent: '' })
  })
})

describe('properties', () => {
  const SEED = { seed: 6, numRuns: 3000 }
  const name = fc.constantFrom('a', 'b', 'a/b', '*')
  const kind = fc.constantFrom<ToolKind>('read', 'write', 'execute', 'think')
  const agent = fc.constantFrom('', 'a', 'b', '*', '**', 'a/**', 'a/b', '**/b', 'a%2Fb', '%2A', '*/*')
  const args = fc.constantFrom<NonNullable<PolicyRule['args']>>(
    { x: { equals: 1 } },
    { x: { glob: 'a*' } },
    { x: { not: { equals: 1 } } },
    { x: { not: { glob: 'a*' } }, y: { equals: true } },
  )
  const rule: fc.Arbitrary<PolicyRule> = fc.record(
    {
      effect: fc.constantFrom<PolicyEffect>('deny', 'ask', 'allow', 'allow'),
      agent,
      tool: fc.constantFrom('t', 'u*', '*'),
      kind,
      args,
    },
    { requiredKeys: ['effect'] },
  )
  const rules = fc.array(rule, { maxLength: 6 })
  const calls: fc.Arbitrary<PolicyCall> = fc.record({
    path: fc.array(name, { maxLength: 4 }),
    tool: fc.constantFrom('t', 'u', 'uu'),
    kind,
    args: fc.record({ x: fc.constantFrom(1, 'a', 'ab', 'b'), y: fc.boolean() }, { requiredKeys: [] }),
  })
  const strength = ({ effect }: Decision) => ['allow', 'ask', 'deny'].indexOf(effect)

  test('the order of rules does not matter', () => {
    const shuffled = rules.chain((list) =>
      fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
    )
    fc.assert(
      fc.property(shuffled, calls, ([one, other], made) => {
        expect(decide(other, made).effect).toBe(decide(one, made).effect)
      }),
      SEED,
    )
  })

  test('a deny or ask more never allows more, an allow more never forbids more', () => {
    fc.assert(
      fc.property(rules, rule, calls, (list, more, made) => {
        const [before, after] = [decide(list, made), decide([...list, more], made)].map(strength) as [number, number]
        if (more.effect === 'allow') expect(after).toBeLessThanOrEqual(before)
        else expect(after).toBeGreaterThanOrEqual(before)
      }),
      SEED,
    )
  })

  test("a child's rights are within its parent's", () => {
    fc.assert(
      fc.property(rules, calls, name, (list, made, child) => {
        fc.pre(made.path.length > 0)
        const below = { ...made, path: [...made.path, child] }
        expect(strength(decide(list, below))).toBeGreaterThanOrEqual(strength(decide(list, made)))
      }),
      SEED,
    )
  })

  test('is the strictest decision along the path, taken literally', () => {
    const literal = (
      list: readonly PolicyRule[],
      { path, ...made }: PolicyCall,
      isDefaultOut: boolean,
    ): PolicyEffect | undefined => {
      // Each rule alone, on a call of an agent without agents above it, except by name.
      const effects = list.filter((one) => holds(one, path, made)).map(({ effect }) => effect)
      if (effects.includes('deny')) return 'deny'
      if (effects.includes('ask')) return 'ask'
      if (isDefaultOut) return undefined
      return effects.length > 0 || made.kind === 'read' || made.kind === 'think' ? 'allow' : 'ask'
    }
    fc.assert(
      fc.property(rules, calls, (list, made) => {
        const { path } = made
        const along = path
          .concat('')
          .map((_, i) => literal(list, { ...made, path: path.slice(0, i) }, i === 0 && path.length > 0))
        const strictest = (['deny', 'ask', 'allow'] as const).find((effect) => along.includes(effect))
        expect(decide(list, made).effect).toBe(strictest)
      }),
      SEED,
    )
  })
})

/** Whether a rule matches a call, written down a second time for the small language of the properties. */
function holds(rule: PolicyRule, path: readonly string[], { tool, kind, args }: Omit<PolicyCall, 'path'>): boolean {
  const { x, y } = args as { readonly x?: unknown; readonly y?: unknown }
  const written = path.map((name) => encodeURIComponent(name).replaceAll('*', '%2A')).join('/')
  const agents: Record<string, RegExp> = {
    '': /^$/,
    a: /^a$/,
    b: /^b$/,
    '*': /^[^/]+$/,
    '**': /^/,
    'a/**': /^a(\/|$)/,
    'a/b': /^a\/b$/,
    '**/b': /(^|\/)b$/,
    'a%2Fb': /^a%2Fb$/,
    '%2A': /^%2A$/,
    '*/*': /^[^/]+\/[^/]+$/,
  }
  const startsWithA = typeof x === 'string' && x.startsWith('a')
  const matchers: Record<string, boolean> = {
    '{"x":{"equals":1}}': x === 1,
    '{"x":{"glob":"a*"}}': startsWithA,
    '{"x":{"not":{"equals":1}}}': x !== 1,
    '{"x":{"not":{"glob":"a*"}},"y":{"equals":true}}': !startsWithA && y === true,
  }
  return (
    (rule.agent === undefined || agents[rule.agent as string]?.test(written) === true) &&
    (rule.tool === undefined || rule.tool === '*' || (rule.tool === 't' ? tool === 't' : tool.startsWith('u'))) &&
    (rule.kind === undefined || rule.kind === kind) &&
    (rule.args === undefined || matchers[JSON.stringify(rule.args)] === true)
  )
}

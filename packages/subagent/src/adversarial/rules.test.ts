import type { Json, Tool } from '@troupe/kernel'
import { beforeEach, describe, expect, test } from 'vitest'
import { createPolicy, decide, type PolicyRule } from '../index.ts'
import { callOf, codeOf, noting, noUnhandledRejection } from '../policy/policy.fixture.ts'

beforeEach(noUnhandledRejection)

const effectOf = (rules: readonly PolicyRule[], args: unknown, kind: Tool['kind'] = 'read') =>
  decide(rules, { path: ['a'], tool: 't', kind, args }).effect

describe('arguments that try to slip past a rule', () => {
  test.each([
    'src/../secret/key',
    'src\\..\\secret\\key',
    '../secret/key',
    'src/sub/../../secret/key',
    'a/..//secret/key',
  ])('a path that climbs (%s) is not let through by the default for reading', (path) => {
    expect(effectOf([{ effect: 'deny', args: { path: { glob: 'secret/**' } } }], { path })).toBe('deny')
  })

  test('a path that climbs and comes out elsewhere is not forbidden for that', () => {
    const rules: PolicyRule[] = [{ effect: 'deny', args: { path: { glob: 'secret/**' } } }]
    expect(['src/../lib/a', 'src/./a', 'a..b', 'x ../y'].map((path) => effectOf(rules, { path }))).toEqual(
      Array(4).fill('allow'),
    )
  })

  test('a path with .. is not allowed by a negated rule', () => {
    const rules: PolicyRule[] = [{ effect: 'allow', args: { path: { not: { glob: 'secret/**' } } } }]
    expect(effectOf(rules, { path: 'src/a' }, 'write')).toBe('allow')
    expect(effectOf(rules, { path: 'src/../secret/key' }, 'write')).toBe('ask')
  })

  test('a path with .. does not escape a rule that denies all but one folder', () => {
    const rules: PolicyRule[] = [{ effect: 'deny', args: { path: { not: { glob: 'src/**' } } } }]
    expect(effectOf(rules, { path: 'src/a' })).toBe('allow')
    expect(effectOf(rules, { path: 'src/../etc' })).toBe('deny')
  })

  test.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])(
    'a member that every object has (%s) is not an argument: it matches no glob and equals no value',
    (name) => {
      for (const matcher of ['{ "glob": "**" }', '{ "equals": 1 }', '{ "equals": null }']) {
        const rule = JSON.parse(`{ "effect": "allow", "args": { "${name}": ${matcher} } }`)
        expect(effectOf([rule], {}, 'write')).toBe('ask')
      }
    },
  )

  test.each(['./secret/key', 'secret//key', './/secret/./key', 'secret\\\\key'])(
    'a detour (%s) does not lead around a rule that forbids',
    (path) => {
      expect(effectOf([{ effect: 'deny', args: { path: { glob: 'secret/*' } } }], { path })).toBe('deny')
      expect(effectOf([{ effect: 'allow', args: { path: { not: { glob: 'secret/*' } } } }], { path }, 'write')).toBe(
        'ask',
      )
    },
  )

  test('an argument named __proto__ is one like any other', () => {
    const rule = JSON.parse('{ "effect": "deny", "args": { "__proto__": { "equals": { "admin": true } } } }')
    expect(effectOf([rule], JSON.parse('{ "__proto__": { "admin": true } }'))).toBe('deny')
    expect(effectOf([rule], JSON.parse('{ "__proto__": { "admin": false } }'))).toBe('allow')
  })

  test('equals is not fooled by prototypes, order, zeros or holes', () => {
    const equals = (value: Json, given: unknown) =>
      effectOf([{ effect: 'deny', args: { x: { equals: value } } }], { x: given }) === 'deny'
    expect(equals({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true)
    expect(equals({}, JSON.parse('{ "__proto__": 1 }'))).toBe(false)
    expect(equals(0, -0)).toBe(true)
    expect(equals([], {})).toBe(false)
    expect(equals([1], { 0: 1, length: 1 })).toBe(false)
    expect(equals(null, 0)).toBe(false)
  })

  test('texts inside an object or a list of lists are not overlooked by a rule that forbids', () => {
    const rules: PolicyRule[] = [{ effect: 'deny', args: { paths: { glob: 'secret/**' } } }]
    expect(effectOf(rules, { paths: ['src/a', 'secret/b'] })).toBe('deny')
    expect(effectOf(rules, { paths: [['secret/b']] })).toBe('deny')
    expect(effectOf(rules, { paths: { path: 'secret/b' } })).toBe('deny')
  })

  test.each([null, 'text', 3, [], undefined])('arguments that are %o free nothing that depends on them', (args) => {
    expect(effectOf([{ effect: 'allow', args: { path: { glob: '**' } } }], args, 'write')).toBe('ask')
    expect(effectOf([{ effect: 'allow', args: { path: { not: { equals: 1 } } } }], args, 'write')).toBe('ask')
  })
})

describe('names', () => {
  test.each(['*', '**', '%', '%2A', 'a/b', '..', '__proto__', 'constructor', 'a b', '\u0000', '.*', 'x|y'])(
    'a tool named %o is denied by a rule for its written name, and by no other',
    async (name) => {
      const ran: unknown[] = []
      const written = name.replaceAll('%', '%25').replaceAll('*', '%2A')
      const deny = createPolicy({ rules: [{ effect: 'deny', tool: written }, { effect: 'allow' }] })
      expect(codeOf(await callOf().attempt(deny.guard(noting(name, ran), { path: ['a'] })))).toBe('POLICY_DENIED')
      expect(ran).toEqual([])
      expect((await callOf().attempt(deny.guard(noting('other', ran), { path: ['a'] }))).result?.error).toBeUndefined()
    },
  )

  test.each([['a/b'], ['*'], ['**'], ['%2F'], ['__proto__']])(
    'an agent named %o neither borrows nor lends rights',
    (name) => {
      const rules: PolicyRule[] = [{ effect: 'allow', agent: ['a', 'a/b'] }]
      expect(decide(rules, { path: [name], tool: 't', kind: 'write', args: {} }).effect).toBe('ask')
    },
  )
})

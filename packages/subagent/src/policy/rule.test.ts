import { KernelError, type ToolKind } from '@troupe/kernel'
import { describe, expect, test } from 'vitest'
import { identityOf } from './agent-path.ts'
import { decide } from './decide.ts'
import { createPolicy } from './policy.ts'
import type { PolicyRule } from './rule.ts'

const effect = (rule: Partial<PolicyRule>, call: { path?: string[]; tool?: string; kind?: ToolKind; args?: unknown }) =>
  decide([{ effect: 'deny', ...rule }], { path: [], tool: 't', kind: 'read', args: {}, ...call }).effect
const denies = (...given: Parameters<typeof effect>) => effect(...given) === 'deny'

describe('the agent of a rule', () => {
  test.each([
    ['a', ['a'], true],
    ['a', ['b'], false],
    ['a', ['A'], false],
    ['b', ['a', 'b'], false],
    ['*/b', ['a', 'b'], true],
    ['a/*', ['a', 'b'], true],
    ['a/*', ['a'], false],
    ['a/**', ['a'], true],
    ['**/c', ['a', 'b', 'c'], true],
    ['**/c', ['c'], true],
    ['a/**/c', ['a', 'c'], true],
    ['a/**/c', ['b', 'c'], false],
    ['**', [], true],
    ['*', [], false],
    ['te*er', ['tester'], true],
    ['te**er', ['tester'], true],
  ])('%j on %j is %j', (agent, path, expected) => {
    expect(denies({ agent }, { path })).toBe(expected)
  })

  test('that denies an agent denies those below', () => {
    expect(denies({ agent: 'a' }, { path: ['a', 'b', 'c'] })).toBe(true)
    expect(denies({ agent: '' }, { path: ['a'] })).toBe(true)
  })

  test('is one of several', () => {
    expect(['a', 'b', 'c'].map((name) => denies({ agent: ['a', 'b'] }, { path: [name] }))).toEqual([true, true, false])
  })

  test('many ** cost no more than one', () => {
    const agent = Array.from({ length: 50 }, () => '**').join('/x/')
    expect(denies({ agent }, { path: Array.from({ length: 200 }, () => 'a') })).toBe(false)
  })
})

describe('special characters in names', () => {
  const hostile = [
    'a/b',
    '*',
    '**',
    '%2F',
    'a%',
    '.*',
    'a|b',
    '(a)+',
    '[a-z]',
    '^a$',
    '\\',
    '$&',
    '..',
    'ä🙂',
    ' ',
    '\n',
    '__proto__',
    'constructor',
  ]

  test('an agent of such a name is matched by its identity, and by nothing else of them', () => {
    for (const name of hostile) {
      for (const other of [...hostile, 'a', 'b', 'x']) {
        expect(denies({ agent: identityOf([name]) }, { path: [other] }), `${name} on ${other}`).toBe(name === other)
      }
    }
  })

  test('a slash in a name does not make a path, neither in rules nor in an identity', () => {
    expect(denies({ agent: 'a/b' }, { path: ['a/b'] })).toBe(false)
    expect(denies({ agent: 'a' }, { path: ['a/b'] })).toBe(false)
    expect(denies({ agent: 'a%2Fb' }, { path: ['a', 'b'] })).toBe(false)
    expect(denies({ agent: 'a%2fb' }, { path: ['a/b'] })).toBe(true)
    expect([identityOf(['a/b']), identityOf(['a', 'b'])]).toEqual(['a%2Fb', 'a/b'])
  })

  test('a tool of such a name is matched by it; only * and % are written otherwise', () => {
    for (const name of hostile) {
      const tool = name.replaceAll('%', '%25').replaceAll('*', '%2A')
      for (const other of [...hostile, 'a', 'x']) {
        expect(denies({ tool }, { tool: other }), `${name} on ${other}`).toBe(name === other)
      }
    }
    expect(denies({ tool: 'server/*' }, { tool: 'server/read/all' })).toBe(true)
  })
})

describe('tool and kind of a rule', () => {
  test('patterns, lists, and all of them together', () => {
    expect(['read_file', 'read_', 'reader'].map((tool) => denies({ tool: 'read_*' }, { tool }))).toEqual([
      true,
      true,
      false,
    ])
    expect(denies({ tool: ['x', 't'], kind: ['write', 'read'] }, {})).toBe(true)
    expect(denies({ tool: 't', kind: 'write' }, {})).toBe(false)
    expect(denies({ tool: 't', agent: 'a', kind: 'read' }, { path: ['b'] })).toBe(false)
  })
})

describe('arguments of a rule', () => {
  const args = (given: PolicyRule['args'], value: unknown) => denies({ args: given as never }, { args: value })
  const allows = (given: PolicyRule['args'], value: unknown) =>
    effect({ effect: 'allow', args: given as never }, { kind: 'write', args: value }) === 'allow'

  test('equals compares JSON', () => {
    const equals = { deep: [1, { a: null, b: 'x' }] }
    expect(args({ x: { equals } }, { x: { deep: [1, { b: 'x', a: null }] } })).toBe(true)
    for (const x of [
      { deep: [1] },
      { deep: [1, { a: null, b: 'x', c: 1 }] },
      '[object Object]',
      null,
      undefined,
      [1],
    ]) {
      expect(args({ x: { equals } }, { x })).toBe(false)
    }
    expect(args({ x: { equals: 1 } }, { x: '1' })).toBe(false)
  })

  test('every named argument has to match; an absent one does not', () => {
    const given = { a: { equals: 1 }, b: { glob: 'x*' } }
    expect(args(given, { a: 1, b: 'xy', c: 3 })).toBe(true)
    expect(args(given, { a: 1 })).toBe(false)
    expect(args({ constructor: { not: { equals: 1 } } }, {})).toBe(true)
    expect(args({ toString: { glob: '**' } }, {})).toBe(false)
    expect(args(given, Object.create({ a: 1, b: 'x' }))).toBe(true)
  })

  test('glob compares text; not turns around', () => {
    expect(args({ path: { glob: ['src/**', 'lib/**'] } }, { path: 'lib/a/b' })).toBe(true)
    expect(args({ path: { not: { glob: 'src/**' } } }, { path: 'etc/passwd' })).toBe(true)
    expect(args({ path: { not: { glob: 'src/**' } } }, { path: 'src/a' })).toBe(false)
    expect(args({ path: { glob: '**' } }, { path: 7 })).toBe(false)
  })

  test.each(['src/../etc/passwd', 'src/..', 'src\\..\\..\\x', 'src/a/../../b'])(
    '%s leaves its folder: it frees nothing and escapes nothing',
    (path) => {
      expect(allows({ path: { glob: 'src/**' } }, { path })).toBe(false)
      expect(args({ path: { not: { glob: 'src/**' } } }, { path })).toBe(true)
      expect(args({ path: { glob: 'src/**' } }, { path })).toBe(true)
      expect(allows({ path: { equals: path } }, { path })).toBe(true)
    },
  )

  test('a folder with everything in it is also the folder itself, and ** is also no folder', () => {
    const rules: PolicyRule['args'] = { path: { glob: ['**/.env', 'secrets/**'] } }
    for (const path of ['.env', 'a/.env', 'secrets', 'secrets/', './secrets', 'secrets/a']) {
      expect([path, args(rules, { path })]).toEqual([path, true])
    }
    expect(allows({ path: { glob: 'src/**' } }, { path: 'src' })).toBe(true)
    for (const path of ['a.env', 'secrets2', 'secret']) expect([path, args(rules, { path })]).toEqual([path, false])
  })

  test('an absolute path may end in the folder that a rule forbids; it is not in the one that a rule allows', () => {
    for (const path of ['/work/secrets/key', 'C:\\work\\secrets\\key', '~/secrets']) {
      expect([path, args({ path: { glob: 'secrets/**' } }, { path })]).toEqual([path, true])
      expect([path, allows({ path: { glob: 'secrets/**' } }, { path })]).toEqual([path, false])
    }
    expect(args({ path: { glob: '/etc/**' } }, { path: '/work/etc/x' })).toBe(false)
  })

  test('a backslash may be a slash or a part of a name: the stricter one counts', () => {
    expect(allows({ path: { glob: 'src/*' } }, { path: 'src/a\\b' })).toBe(false)
    expect(args({ path: { glob: 'src/*' } }, { path: 'src/a\\b' })).toBe(true)
    expect(args({ path: { glob: 'src/a/*' } }, { path: 'src/a\\b' })).toBe(true)
  })

  test('text compares a text that is not a path', () => {
    expect(args({ command: { text: 'rm *' } }, { command: 'rm -rf /a/b' })).toBe(true)
    expect(args({ command: { text: 'rm *' } }, { command: 'ls rm' })).toBe(false)
    expect(allows({ command: { text: ['git status', 'git log *'] } }, { command: 'git log ../x' })).toBe(true)
    expect(allows({ command: { text: 'git *' } }, { command: 'git\nrm' })).toBe(false)
    expect(args({ command: { not: { text: 'git *' } } }, { command: 'rm' })).toBe(true)
  })

  test('of a list, a rule that frees has to know each text, one that forbids any', () => {
    const given = { paths: { glob: 'src/**' } }
    expect(allows(given, { paths: ['src/a', 'src/b'] })).toBe(true)
    for (const paths of [['src/a', 'etc'], ['src/a', 1], []]) expect(allows(given, { paths })).toBe(false)
    expect(args(given, { paths: ['etc', 'src/a'] })).toBe(true)
    expect(args({ paths: { not: { glob: 'src/**' } } }, { paths: ['src/a', 'etc'] })).toBe(true)
  })

  test('arguments that cannot be looked at turn out for the stricter side', () => {
    const minefield = Object.defineProperty({}, 'x', { enumerable: true, get: () => expect.fail('looked at') })
    for (const value of [undefined, null, 'x', [], minefield]) {
      expect(args({ x: { equals: 1 } }, value)).toBe(true)
      expect(allows({ x: { equals: 1 } }, value)).toBe(false)
    }
  })
})

describe('an invalid rule', () => {
  const wrong: [string, unknown][] = [
    ['must be an object', null],
    ['must be an object', 'deny'],
    ['must be an object', []],
    ['effect must be one of', {}],
    ['effect must be one of', { effect: 'Deny' }],
    ['has an unknown option tools; did you mean tool?', { effect: 'deny', tools: 'x' }],
    ['agent must be a text', { effect: 'deny', agent: 1 }],
    ['agent must be a pattern', { effect: 'deny', agent: [] }],
    ['agent must have a name', { effect: 'deny', agent: 'a//b' }],
    ['agent must have a name', { effect: 'deny', agent: '/a' }],
    ['agent must write %', { effect: 'deny', agent: 'a%' }],
    ['tool must write %', { effect: 'deny', tool: '%2' }],
    ['tool must write %', { effect: 'deny', tool: '%41' }],
    ['tool must have at most 256', { effect: 'deny', tool: 'x'.repeat(257) }],
    ['kind must be one of', { effect: 'deny', kind: 'delete' }],
    ['reason must be a text', { effect: 'deny', reason: 1 }],
    ['args must map names of arguments', { effect: 'deny', args: {} }],
    ['args must map names of arguments', { effect: 'deny', args: [] }],
    ['args.x must be { equals }', { effect: 'deny', args: { x: 'y' } }],
    ['args.x must have no keys but glob', { effect: 'deny', args: { x: { regex: '(a+)+$' } } }],
    ['args.x must have no keys but equals', { effect: 'deny', args: { x: { equals: 1, glob: '*' } } }],
    ['args.x must have no keys but glob', { effect: 'deny', args: { x: { not: { not: { equals: 1 } } } } }],
    ['args.x must have no keys but not', { effect: 'deny', args: { x: { not: { equals: 1 }, glob: '*' } } }],
    ['args.x equals must be plain JSON', { effect: 'deny', args: { x: { equals: undefined } } }],
    ['args.x equals must be plain JSON', { effect: 'deny', args: { x: { equals: new Date(0) } } }],
    ['args.x glob must be', { effect: 'deny', args: { x: { glob: 1 } } }],
    ['args.x glob must be', { effect: 'deny', args: { x: { glob: [] } } }],
    ['args.x must have at most 256', { effect: 'deny', args: { x: { glob: '*'.repeat(257) } } }],
    ['args.x glob must have ** between slashes only', { effect: 'deny', args: { x: { glob: 'rm **' } } }],
    ['args.x text must be', { effect: 'deny', args: { x: { text: [] } } }],
  ]
  test.each(wrong)('%s: %j', (expected, rule) => {
    const rules = [{ effect: 'allow' }, rule] as PolicyRule[]
    const error = caught(() => createPolicy({ rules }))
    expect(KernelError.is(error, 'CONFIG_INVALID')).toBe(true)
    expect(error).toMatchObject({ message: expect.stringContaining('policy: rules[1]'), details: { rule: 1 } })
    expect(String(error)).toContain(expected)
  })

  test('rules are a list; a bus is one of ours; a limit is a number', () => {
    for (const options of [{ rules: {} }, { rules: null }, { bus: {} }, { askTimeoutMs: 0 }, { askTimeoutMs: '5' }]) {
      expect(
        KernelError.is(
          caught(() => createPolicy(options as never)),
          'CONFIG_INVALID',
        ),
      ).toBe(true)
    }
  })

  test('changing the rules afterwards changes nothing', () => {
    const equals = { deep: 1 }
    const rules: PolicyRule[] = [{ effect: 'deny', args: { x: { equals } } }]
    const policy = createPolicy({ rules })
    equals.deep = 2
    rules.length = 0
    expect(policy.decide({ path: [], tool: 't', kind: 'read', args: { x: { deep: 1 } } }).effect).toBe('deny')
  })
})

function caught(work: () => unknown): unknown {
  try {
    return expect.fail(`got ${String(work())}`)
  } catch (error) {
    return error
  }
}

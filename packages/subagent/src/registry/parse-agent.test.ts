import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KernelError } from '@troupe/kernel'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isDefinition } from '../define/define-agent.ts'
import { loadAgents } from './load-agents.ts'
import { parseAgent } from './parse-agent.ts'

const FILE = `---
# an agent
name: codebase_investigator
displayName: Codebase Investigator
description: >-
  Finds what matters
  in a code base.
input:
  inputs:
    objective: { type: string, description: Investigation goal, required: true }
    max_files: { type: integer, description: Maximum files to analyze }
output:
  type: object
  properties: { files: { type: array, items: { type: string } } }
  required: [files]
model: fast
tools:
  allow: [read_*, grep]
  deny: [read_secret]
limits: { maxTurns: 10, timeoutMs: 60_000 }
---

You investigate. Your objective: \${objective}

---
A line of dashes belongs to the prompt.
`
const errorOf = (text: string): KernelError => {
  try {
    parseAgent(text, 'agents/x.md')
  } catch (error) {
    return error as KernelError
  }
  throw new Error('nothing was thrown')
}
/** A sound file with lines more in its front matter, which begin at line 5. */
const withLines = (lines: string, body = 'Help.') =>
  `---\nname: x\ndescription: d\ninput: { inputs: { a: { type: string, description: d } } }\n${lines}\n---\n${body}\n`

describe('an agent in a Markdown file', () => {
  test('has the options of defineAgent in its front matter, and its prompt below', () => {
    const defined = parseAgent(FILE.replace('60_000', '60000'), 'x.md')
    expect(isDefinition(defined)).toBe(true)
    expect(defined).toMatchObject({
      name: 'codebase_investigator',
      displayName: 'Codebase Investigator',
      description: 'Finds what matters in a code base.',
      prompt: 'You investigate. Your objective: ${objective}\n\n---\nA line of dashes belongs to the prompt.',
      parameters: {
        properties: { objective: { type: 'string' }, max_files: { type: 'integer' } },
        required: ['objective'],
      },
      model: 'fast',
      tools: { allow: ['read_*', 'grep'], deny: ['read_secret'] },
      limits: { maxTurns: 10, timeoutMs: 60_000 },
    })
  })

  test('may have a byte order mark and lines that end as on Windows', () => {
    const text = `\uFEFF${withLines('model: m')}`.replaceAll('\n', '\r\n')
    expect(parseAgent(text, 'x.md')).toMatchObject({ name: 'x', prompt: 'Help.', model: 'm' })
  })

  test.each<[string, string, number, RegExp]>([
    ['an unknown key', withLines('tols: [a]'), 5, /unknown option tols; did you mean tools\?/],
    [
      'an unknown key inside',
      withLines('limits:\n  maxTurns: 3\n  maxStep: 3'),
      7,
      /unknown option limits.maxStep; known are maxTurns/,
    ],
    [
      'an unknown key of a parameter',
      '---\nname: x\ndescription: d\ninput:\n  inputs:\n    a:\n      type: string\n      description: d\n      minimum: 3\n---\nHelp.',
      9,
      /unknown option input.inputs.a.minimum; known are type, description, required/,
    ],
    [
      'an unknown type',
      '---\nname: x\ndescription: d\ninput:\n  inputs:\n    a:\n      description: d\n      type: date\n---\nHelp.',
      8,
      /parameter a.*"date"/,
    ],
    ['an invalid limit', withLines('limits: { maxTurns: no }'), 5, /limits.maxTurns/],
    ['a tool that is not a name', withLines('tools:\n  - grep\n  - 3'), 7, /tools\.1/],
    ['a missing name in the prompt', withLines('model: m', '\n\nDo ${b} and ${c}.'), 9, /\$\{b\}, \$\{c\}/],
    ['no prompt', withLines('model: m', ''), 7, /prompt must be a text/],
    ['a prompt in the front matter', withLines('model: m\nprompt: Help.'), 6, /below the front matter/],
    ['no name', '---\ndescription: d\n---\nHelp.', 2, /name/],
    ['a key that occurs twice', withLines('model: a\nmodel: b'), 6, /unique/i],
    ['YAML that is broken', withLines('tools: [a'), 5, /./],
    ['a tag of its own', withLines('model: !secret x'), 5, /tag/i],
    ['front matter that is a list', '---\n- a\n---\nHelp.', 2, /keys and values/],
    ['empty front matter', '---\n---\nHelp.', 2, /name/],
    ['no front matter', 'Help.', 1, /must begin with/],
    ['front matter without an end', '---\nname: x\n\nHelp.', 4, /must end with/],
    ['nothing at all', '', 1, /must begin with/],
  ])('%s is refused with file and line', (_, text, line, message) => {
    const error = errorOf(text)
    expect([error.code, error.details, error.message]).toEqual([
      'SUBAGENT_FILE_INVALID',
      { file: 'agents/x.md', line },
      expect.stringMatching(message),
    ])
    expect(error.message).toMatch(new RegExp(`^agents/x\\.md:${line}: `))
  })

  test('aliases that explode are refused', () => {
    const bomb = [
      'a: &a [x, x, x, x, x, x, x, x]',
      ...'bcdefgh'.split('').map((name, i) => `${name}: &${name} [${Array(8).fill(`*${'abcdefg'[i]}`).join(', ')}]`),
    ]
    expect(errorOf(withLines(bomb.join('\n'))).code).toBe('SUBAGENT_FILE_INVALID')
  })

  test('whatever the text, it is an agent or refused with file and line (property)', () => {
    const line = fc.constantFrom(
      '---',
      'name: x',
      'description: d',
      'input: { inputs: {} }',
      'tools: [a]',
      '  x',
      '- y',
      'limits:',
      '  maxTurns: 3',
      '"',
      '}',
      '\t',
      '# c',
      'Help ${x}',
      '&a',
      '*a',
      '? k',
      '',
      '__proto__: 1',
      'model: |',
    )
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        try {
          expect(isDefinition(parseAgent(lines.join('\n'), 'agents/x.md'))).toBe(true)
        } catch (error) {
          const { code, details } = error as KernelError
          expect([code, details]).toEqual(['SUBAGENT_FILE_INVALID', { file: 'agents/x.md', line: expect.any(Number) }])
          expect(details.line).toBeLessThanOrEqual(Math.max(2, lines.length + 1))
        }
      }),
      {
        seed: 6,
        numRuns: 1_000,
        examples: [[['---', 'name: x', 'description: d', 'input: { inputs: {} }', '---', 'Help']]],
      },
    )
  })
})

test('loading a folder: each file that cannot be read gives its own error', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'agents-'))
  try {
    await mkdir(join(folder, 'folder.md'))
    await writeFile(join(folder, 'x.md'), withLines('model: m'))
    const { definitions, errors } = await loadAgents(folder)
    expect([definitions.map(({ name }) => name), errors.map(({ code, details }) => [code, details.file])]).toEqual([
      ['x'],
      [['SUBAGENT_FILE_INVALID', join(folder, 'folder.md')]],
    ])
  } finally {
    await rm(folder, { recursive: true })
  }
})

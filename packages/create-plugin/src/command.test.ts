import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandOptions, runCommand } from './command.ts'
import { TEMPLATE_FILES } from './create-plugin.ts'
import { KINDS, type Kind } from './kind.ts'

const template = (kind: Kind) => resolve(import.meta.dirname, `../../../examples/${kind}-plugin`)
/** The type and the suite of each kind. */
const TYPICAL: Record<Kind, [type: string, suite: string]> = {
  handler: ['AgentHandler', 'testHandler'],
  tool: ['Tool<{ url: string }>', 'testTool'],
  model: ['ChatModel', 'testModel'],
  agent: ['Agent', 'testAgent'],
  store: ['Store', 'testStore'],
  callback: ['Callback', 'testCallback'],
}
let parent: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'troupe-create-'))
})

afterEach(() => rmSync(parent, { recursive: true }))

function createWith(options: Partial<CommandOptions>, ...args: string[]) {
  const next = (folder: string) => [`cd ${folder}`]
  const given = { command: 'npm create troupe-plugin', separator: '-- ', parent, template, range: '^1.2.3', next }
  return runCommand(args, { ...given, holder: undefined, year: 2031, ...options })
}
const create = (...args: string[]) => createWith({}, ...args)

const read = (path: string) => readFileSync(join(parent, path), 'utf8')
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))

describe('creating a plugin', () => {
  it('makes the template under another name, and says what comes next', () => {
    const { exitCode, output } = create('@acme/troupe-handler-low-voice')
    const folder = join(parent, 'troupe-handler-low-voice')
    expect(exitCode).toBe(0)
    expect(output).toContain(`Made @acme/troupe-handler-low-voice in ${folder}: a handler that works`)
    expect(output).toContain(`  cd ${folder}`)
    expect(filesIn(folder).sort()).toEqual(['.gitignore', ...TEMPLATE_FILES])
    expect(read('troupe-handler-low-voice/src/index.ts')).toMatch(/function lowVoice\(.*: LowVoiceOptions = {}\)/)
    expect(read('troupe-handler-low-voice/src/index.ts')).toContain("name: 'low-voice'")
    expect(read('troupe-handler-low-voice/README.md')).toContain(
      "import { lowVoice } from '@acme/troupe-handler-low-voice'",
    )
  })

  it.each(KINDS)('of kind %s has its type and its suite, under any name', (kind) => {
    const [type, suite] = TYPICAL[kind]
    for (const name of ['my-clock', 'troupe-handler-my-clock', 'troupe-tool-my-clock']) {
      expect(create(name, '--kind', kind)).toMatchObject({ exitCode: 0 })
      const code = read(`${name}/src/index.ts`)
      expect(code).toMatch(/export function myClock\(/)
      expect(code).toContain(`: ${type} {`)
      expect(code).toContain('export interface MyClockOptions {')
      expect(read(`${name}/src/index.test.ts`)).toContain(
        `${suite}('myClock`.replace('myClock', kind === 'handler' ? 'my-clock' : 'myClock'),
      )
      expect(read(`${name}/package.json`)).toContain(`"troupe-${kind}"`)
    }
  })

  it('names a tool as models like it', () => {
    create('my-clock', '--kind=tool')
    expect(read('my-clock/src/index.ts')).toContain("name: 'my_clock'")
    expect(read('my-clock/README.md')).toContain('a tool `my_clock`')
  })

  it.each(KINDS)(
    'of kind %s asks for the given kernel, begins with a version of its own and can be published',
    (kind) => {
      create('whisper', '--kind', kind)
      const manifest = JSON.parse(read('whisper/package.json'))
      expect(manifest).toMatchObject({
        name: 'whisper',
        version: '0.1.0',
        license: 'MIT',
        peerDependencies: { '@troupe/kernel': '^1.2.3' },
        devDependencies: { '@troupe/kernel': '^1.2.3', '@troupe/testkit': '^1.2.3' },
      })
      expect(manifest.private).toBeUndefined()
    },
  )

  it('has a licence with the name of its author, or with the authors of the package', () => {
    createWith({ holder: 'Ann $& Ay' }, 'whisper')
    expect(read('whisper/LICENSE')).toMatch(
      /^MIT License\n\nCopyright \(c\) 2031 Ann \$& Ay\n\nPermission is hereby granted/,
    )
    create('@acme/shouter')
    expect(read('shouter/LICENSE')).toContain('\nCopyright (c) 2031 the authors of @acme/shouter\n')
  })

  it.each(KINDS)('of kind %s leaves no name of the template behind, and replaces no name twice', (kind) => {
    const before = JSON.parse(readFileSync(join(template(kind), 'package.json'), 'utf8')).name as string
    const word = before.replace(`troupe-${kind}-`, '')
    create(`${before}-loud`, '--kind', kind)
    const any = word.replace('-', '[-_]?')
    for (const file of TEMPLATE_FILES) {
      const text = read(`${before}-loud/${file}`).replaceAll(new RegExp(`${before}-loud|${any}[-_]?loud`, 'gi'), '')
      expect({ file, left: text.match(new RegExp(`${any}|workspace:|Troupe contributors`, 'gi')) }).toEqual({
        file,
        left: null,
      })
    }
  })

  it('takes a folder of its own, one with nothing but a repository too', () => {
    const folder = join(parent, 'deep/down')
    mkdirSync(join(folder, '.git'), { recursive: true })
    expect(create('whisper', folder, '--kind', 'agent').exitCode).toBe(0)
    expect(JSON.parse(read('deep/down/package.json')).name).toBe('whisper')
  })

  it('leaves a folder alone that has something in it', () => {
    mkdirSync(join(parent, 'whisper'))
    writeFileSync(join(parent, 'whisper/notes.md'), 'mine')
    const { exitCode, output } = create('whisper')
    expect(exitCode).toBe(1)
    expect(output).toMatch(/whisper is not empty: it has notes\.md\. Empty it, or give another folder\.$/)
    expect(readdirSync(join(parent, 'whisper'))).toEqual(['notes.md'])
  })

  it('leaves a file alone that has the name', () => {
    writeFileSync(join(parent, 'whisper'), 'mine')
    expect(create('whisper')).toEqual({
      exitCode: 1,
      output: `${join(parent, 'whisper')} is a file. Give another folder.`,
    })
  })

  it('explains itself when it is asked, or has no name to work with', () => {
    const usage = 'Usage: npm create troupe-plugin <name> [folder] -- [--kind handler|tool|model|agent|store|callback]'
    expect(create('--help')).toEqual({ exitCode: 0, output: expect.stringContaining(usage) })
    expect(create('-h', 'whisper').output).toContain(usage)
    expect(create()).toEqual({ exitCode: 1, output: expect.stringMatching(/^The plugin needs a name\.\n\nUsage: /) })
    expect(readdirSync(parent)).toEqual([])
  })

  it.each<[string[], RegExp]>([
    [['Whisper'], /^'Whisper' cannot be the name of an npm package/],
    [['whisper', 'here', 'there'], /^A name and a folder are enough, but there is 'there' too\. See --help\.$/],
    [['whisper', '--loud'], /--loud/],
    [
      ['whisper', '--kind', 'clock'],
      /^'clock' is not a kind of plugin\. Use one of handler, tool, model, agent, store, callback\.$/,
    ],
    [['whisper', '--kind'], /--kind/],
  ])('refuses %j and makes nothing', (args, output) => {
    expect(create(...args)).toEqual({ exitCode: 1, output: expect.stringMatching(output) })
    expect(readdirSync(parent)).toEqual([])
  })
})

describe('a --kind that npm took for its own', () => {
  it.each<[string[], string]>([
    [['whisper', 'tool'], 'true'],
    [['tool', 'whisper'], 'true'],
    [['whisper'], 'tool'],
  ])('counts: %j and npm_config_kind=%s', (args, takenKind) => {
    expect(createWith({ takenKind }, ...args)).toMatchObject({ exitCode: 0 })
    expect(read('whisper/src/index.ts')).toContain('Tool<')
    expect(readdirSync(parent)).toEqual(['whisper'])
  })

  it.each<[string[], string]>([
    [['whisper', 'clock'], 'true'],
    [['tool', 'agent'], 'true'],
  ])('is asked for again where it is not clear: %j', (args, takenKind) => {
    expect(createWith({ takenKind }, ...args)).toEqual({
      exitCode: 1,
      output: 'The kind is not clear. Put it last: -- --kind handler|tool|model|agent|store|callback.',
    })
    expect(readdirSync(parent)).toEqual([])
  })

  it('does not count beside one that reached us', () => {
    createWith({ takenKind: 'tool' }, 'whisper', '--kind', 'store')
    expect(read('whisper/src/index.ts')).toContain(': Store {')
  })
})

describe('the templates', () => {
  it.each(KINDS)('of kind %s have no file that is not handed on', (kind) => {
    const made = /^(node_modules|dist|\.turbo)\/|^CHANGELOG/
    expect(
      filesIn(template(kind))
        .filter((file) => !made.test(file))
        .sort(),
    ).toEqual([...TEMPLATE_FILES].sort())
  })
})

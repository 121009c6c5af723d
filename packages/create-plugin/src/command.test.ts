import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type CommandResult, runCommand } from './command.ts'
import { TEMPLATE_FILES } from './create-plugin.ts'

const template = resolve(import.meta.dirname, '../../../examples/handler-plugin')
let parent: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'troupe-create-'))
})

afterEach(() => rmSync(parent, { recursive: true }))

function create(...args: string[]): CommandResult {
  const next = ({ folder }: { folder: string }) => [`cd ${folder}`]
  return runCommand(args, { command: 'npm create troupe-plugin', parent, template, range: '^1.2.3', next })
}

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
    expect(output).toContain(`Made @acme/troupe-handler-low-voice in ${folder}`)
    expect(output).toContain(`  cd ${folder}`)
    expect(filesIn(folder).sort()).toEqual(['.gitignore', ...TEMPLATE_FILES])
    expect(read('troupe-handler-low-voice/src/index.ts')).toMatch(/function lowVoice\(.*: LowVoiceOptions = {}\)/)
    expect(read('troupe-handler-low-voice/src/index.ts')).toContain("name: 'low-voice'")
    expect(read('troupe-handler-low-voice/README.md')).toContain(
      "import { lowVoice } from '@acme/troupe-handler-low-voice'",
    )
  })

  it('asks for the given kernel and begins with a version of its own', () => {
    create('whisper')
    expect(JSON.parse(read('whisper/package.json'))).toMatchObject({
      name: 'whisper',
      version: '0.1.0',
      peerDependencies: { '@troupe/kernel': '^1.2.3' },
      devDependencies: { '@troupe/kernel': '^1.2.3', '@troupe/testkit': '^1.2.3' },
    })
  })

  it('leaves no name of the template behind, and replaces no name twice', () => {
    create('troupe-handler-shout-loud')
    for (const file of TEMPLATE_FILES) {
      const text = read(`troupe-handler-shout-loud/${file}`).replaceAll(/troupe-handler-shout-loud|shout-?loud/gi, '')
      expect({ file, left: text.match(/shout|workspace:/gi) }).toEqual({ file, left: null })
    }
  })

  it('takes a folder of its own, one with nothing but a repository too', () => {
    const folder = join(parent, 'deep/down')
    mkdirSync(join(folder, '.git'), { recursive: true })
    expect(create('whisper', folder).exitCode).toBe(0)
    expect(JSON.parse(read('deep/down/package.json')).name).toBe('whisper')
  })

  it('leaves a folder alone that has something in it', () => {
    mkdirSync(join(parent, 'whisper'))
    writeFileSync(join(parent, 'whisper/notes.md'), 'mine')
    const { exitCode, output } = create('whisper')
    expect(exitCode).toBe(1)
    expect(output).toMatch(
      /whisper is not empty: it has notes\.md\. Empty it, or give another folder after the name\.$/,
    )
    expect(readdirSync(join(parent, 'whisper'))).toEqual(['notes.md'])
  })

  it('leaves a file alone that has the name', () => {
    writeFileSync(join(parent, 'whisper'), 'mine')
    expect(create('whisper')).toEqual({
      exitCode: 1,
      output: `${join(parent, 'whisper')} is a file. Give another folder after the name.`,
    })
  })

  it('explains itself when it is asked, or has no name to work with', () => {
    const usage = 'Usage: npm create troupe-plugin <name> [folder]'
    expect(create('--help')).toEqual({ exitCode: 0, output: expect.stringContaining(usage) })
    expect(create('-h', 'whisper').output).toContain(usage)
    expect(create()).toEqual({ exitCode: 1, output: expect.stringMatching(/^The plugin needs a name\.\n\nUsage: /) })
    expect(readdirSync(parent)).toEqual([])
  })

  it.each<[string[], RegExp]>([
    [['Whisper'], /^'Whisper' cannot be the name of an npm package/],
    [['whisper', 'here', 'there'], /^A name and a folder are enough, but there is 'there' too\. See --help\.$/],
    [['whisper', '--kind=tool'], /--kind/],
  ])('refuses %j and makes nothing', (args, output) => {
    expect(create(...args)).toEqual({ exitCode: 1, output: expect.stringMatching(output) })
    expect(readdirSync(parent)).toEqual([])
  })
})

describe('the template', () => {
  it('has no file that is not handed on', () => {
    const made = /^(node_modules|dist|\.turbo)\/|^(CHANGELOG|LICENSE)/
    expect(
      filesIn(template)
        .filter((file) => !made.test(file))
        .sort(),
    ).toEqual([...TEMPLATE_FILES].sort())
  })
})

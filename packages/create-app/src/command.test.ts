import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Asker, Cancelled } from './choices.ts'
import { type CommandOptions, runCommand } from './command.ts'

const root = resolve(import.meta.dirname, '../../..')
let parent: string

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'troupe-command-'))
})
afterEach(() => rmSync(parent, { recursive: true }))

function runWith(options: Partial<CommandOptions>, ...args: string[]) {
  const plugin = {
    template: (kind: string) => join(root, `examples/${kind}-plugin`),
    holder: undefined,
    year: 2031,
    next: (folder: string) => [`cd ${folder}`],
  }
  const given = {
    templates: join(root, 'templates'),
    skill: join(root, 'skills/troupe'),
    node: '24.1.0',
    version: '1.2.3',
    taken: {},
    running: 'npm',
    asker: undefined,
  } as const
  return runCommand(args, { ...given, parent, plugin, ...options })
}
const run = (...args: string[]) => runWith({}, ...args)
const made = (folder: string) => JSON.parse(readFileSync(join(parent, folder, 'package.json'), 'utf8'))

/** A person who gives these answers; without an answer left, one who stops. */
function person(...answers: string[]): Asker & { readonly asked: string[]; readonly refused: string[] } {
  const [asked, refused]: string[][] = [[], []]
  const next = () => {
    const answer = answers.shift()
    if (answer === undefined) throw new Cancelled()
    return answer
  }
  return {
    asked: asked ?? [],
    refused: refused ?? [],
    async text(question, _initial, refuse) {
      asked?.push(question)
      for (;;) {
        const text = next()
        const reason = refuse(text)
        if (reason === undefined) return text
        refused?.push(reason)
      }
    },
    async select<Value extends string>(question: string) {
      asked?.push(question)
      return next() as Value
    },
  }
}

it.each([
  ['20.20.2', true],
  ['22.17.1', true],
  ['22.18.0', false],
  ['24.1.0', false],
])('says what to install where Node %s does not run the app', async (node, isSaid) => {
  const { exitCode, output } = await runWith({ node }, 'my-app', '--yes')
  expect(exitCode).toBe(0)
  expect(output.includes(`install Node 22.18 or later: this is ${node}`)).toBe(isSaid)
})

describe('npm create troupe', () => {
  it('without a terminal takes the defaults, and says which', async () => {
    const { exitCode, output } = await run()
    expect(exitCode).toBe(0)
    expect(
      output,
    ).toBe(`Defaults: folder my-app, template console, model openai, store sqlite, package manager npm. See --help.

Made my-app in my-app from the template console. Next:

  cd my-app
  npm install
  npm start

A demo model answers until OPENAI_API_KEY is set, in your shell or in .env. README.md has the rest.`)
    expect(made('my-app').dependencies['@troupe/kernel']).toBe('^1.2.3')
  })

  it('asks in a terminal for what is not given', async () => {
    const ann = person('shop', 'console', 'postgres', 'pnpm')
    const { output } = await runWith({ asker: ann }, '--model', 'anthropic')
    expect(ann.asked).toHaveLength(4)
    expect(output).not.toContain('Defaults')
    const all = person('shop2', 'console', 'anthropic', 'postgres', 'pnpm')
    expect((await runWith({ asker: all })).output).toBe(`Made shop2 in shop2 from the template console. Next:

  cd shop2
  pnpm install
  cp .env.example .env   # and set DATABASE_URL
  pnpm start

A demo model answers until ANTHROPIC_API_KEY is set, in your shell or in .env. README.md has the rest.`)
    expect(Object.keys(made('shop2').dependencies)).toEqual(
      expect.arrayContaining(['@ai-sdk/anthropic', '@troupe/store-postgres']),
    )
  })

  it('asks nothing if everything is given, or with --yes', async () => {
    const ann = person()
    const all = ['shop', '--template=console', '--model=demo', '--store=memory', '--pm=yarn']
    expect(await runWith({ asker: ann }, ...all)).toMatchObject({ exitCode: 0 })
    expect(await runWith({ asker: ann }, 'shop2', '--yes')).toMatchObject({ exitCode: 0 })
    expect(ann.asked).toEqual([])
    expect(Object.keys(made('shop').dependencies)).not.toContain('@troupe/model-ai-sdk')
  })

  it('asks again for a folder that has something in it', async () => {
    mkdirSync(join(parent, 'taken'))
    writeFileSync(join(parent, 'taken/notes.md'), 'mine')
    const ann = person('taken', 'free', 'console', 'openai', 'sqlite', 'npm')
    expect(await runWith({ asker: ann })).toMatchObject({ exitCode: 0 })
    expect(ann.refused).toEqual([expect.stringContaining('taken is not empty: it has notes.md')])
    expect(existsSync(join(parent, 'free/src/main.ts'))).toBe(true)
  })

  it('a person who stops at a question gets 130, and nothing is made', async () => {
    const answers = ['shop', 'console', 'openai', 'sqlite']
    for (const count of answers.keys()) {
      const stopped = await runWith({ asker: person(...answers.slice(0, count)) })
      expect(stopped).toEqual({ exitCode: 130, output: 'Stopped. Nothing was made.' })
    }
    expect(readdirSync(parent)).toEqual([])
  })

  it('makes the app in the current folder, and then needs no cd', async () => {
    const { output } = await run('.')
    expect(output).not.toContain('cd ')
    expect(existsSync(join(parent, 'src/main.ts'))).toBe(true)
  })

  it('takes a path with spaces, quotes and other letters', async () => {
    const { output } = await run("Ann's Töpfchen/日本")
    expect(output).toContain("  cd 'Ann'\\''s Töpfchen/日本'\n")
    expect(made("Ann's Töpfchen/日本").name).toBe('my-app')
  })

  it.each<[string[], RegExp]>([
    [['--template', 'shop'], /^'shop' is not a template\. Use one of console/],
    [['--model', 'gpt'], /^'gpt' is not a model\. Use one of openai, anthropic, google, ollama, demo\.$/],
    [['--store', 'redis'], /^'redis' is not a store\. Use one of sqlite, memory, postgres\.$/],
    [['--pm', 'cargo'], /^'cargo' is not a package manager\. Use one of npm, pnpm, yarn, bun\.$/],
    [['a', 'b'], /^One folder is enough, but there is 'b' too\. See --help\.$/],
    [['--loud'], /^Unknown option '--loud'\. See --help\.$/],
    [['--template'], /--template/],
  ])('refuses %j and makes nothing', async (args, output) => {
    expect(await run(...args)).toEqual({ exitCode: 1, output: expect.stringMatching(output) })
    expect(readdirSync(parent)).toEqual([])
  })

  it('refuses a folder with something in it, and a file, before it asks', async () => {
    mkdirSync(join(parent, 'shop'))
    writeFileSync(join(parent, 'shop/notes.md'), 'mine')
    const ann = person()
    expect(await runWith({ asker: ann }, 'shop')).toEqual({
      exitCode: 1,
      output: expect.stringMatching(/shop is not empty: it has notes\.md\. Empty it, or give another folder\.$/),
    })
    expect((await runWith({ asker: ann }, 'shop/notes.md')).output).toMatch(/is a file\. Give another folder\.$/)
    expect(ann.asked).toEqual([])
    expect(readFileSync(join(parent, 'shop/notes.md'), 'utf8')).toBe('mine')
  })

  it('explains itself', async () => {
    const { exitCode, output } = await run('--help')
    expect([exitCode, output]).toEqual([0, expect.stringContaining('Usage: npm create troupe [folder] -- [options]')])
    expect(await run('--version')).toEqual({ exitCode: 0, output: '1.2.3' })
    const lines = (await run('--list')).output.split('\n')
    expect(lines[0]).toMatch(/^console +one agent in the terminal/)
    expect(lines.length).toBe(
      readdirSync(join(root, 'templates'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).length,
    )
    expect(readdirSync(parent)).toEqual([])
  })
})

describe('options that npm took for its own', () => {
  it('count: their values are among the arguments', async () => {
    const taken = { template: 'true', model: 'true', store: 'true', pm: 'true' }
    expect(await runWith({ taken }, 'shop', 'console', 'google', 'memory', 'pnpm')).toMatchObject({ exitCode: 0 })
    expect(Object.keys(made('shop').dependencies)).toContain('@ai-sdk/google')
  })

  it('count: npm tells their values, and --yes and --list', async () => {
    const ann = person()
    const taken = { model: 'demo', yes: 'true' }
    expect(await runWith({ asker: ann, taken }, 'shop')).toMatchObject({ exitCode: 0 })
    expect(Object.keys(made('shop').dependencies)).not.toContain('@troupe/model-ai-sdk')
    expect((await runWith({ taken: { list: 'true' } })).output).toMatch(/^console /)
  })

  it('are asked for again where it is not clear', async () => {
    expect(await runWith({ taken: { model: 'true' } }, 'google', 'openai')).toEqual({
      exitCode: 1,
      output: 'The model is not clear. Put it last: -- --model openai|anthropic|google|ollama|demo.',
    })
    expect(readdirSync(parent)).toEqual([])
  })
})

describe('npm create troupe plugin', () => {
  it('makes a plugin, as create-troupe-plugin does', async () => {
    expect(await run('plugin', 'my-clock', '--kind', 'tool')).toMatchObject({ exitCode: 0 })
    expect(made('my-clock').peerDependencies).toEqual({ '@troupe/kernel': '^1.2.3' })
    expect(readFileSync(join(parent, 'my-clock/src/index.ts'), 'utf8')).toContain('Tool<')
  })

  it('says how it is called', async () => {
    expect((await run('plugin')).output).toContain('Usage: npm create troupe plugin <name> [folder] -- [--kind')
  })
})

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MODELS, type ModelId } from './choices.ts'
import { createApp } from './create-app.ts'
import type { PackageManager } from './package-manager.ts'
import { filesOf, type StoreId, type Template, templatesIn } from './template.ts'

const templates = templatesIn(resolve(import.meta.dirname, '../../../templates'))
const SKILL = resolve(import.meta.dirname, '../../../skills/troupe')
let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-app-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const templateOf = (name: string) => templates.find((one) => one.name === name) as Template

function create(name: string, model: ModelId = 'openai', store?: StoreId, packageManager: PackageManager = 'npm') {
  const template = templateOf(name)
  const target = join(folder, 'app')
  return createApp({
    folder: target,
    template,
    skill: SKILL,
    model,
    store: store ?? template.stores[0],
    packageManager,
    range: '^1.2.3',
  })
}
const read = (file: string) => readFileSync(join(folder, 'app', file), 'utf8')
const filesIn = (target: string) =>
  readdirSync(target, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(target.length + 1))
    .sort()

/** Every template for each model and each of its stores. */
const all = templates.flatMap(({ name, stores }) =>
  MODELS.flatMap((model) => (stores.length === 0 ? [undefined] : stores).map((store) => ({ name, model, store }))),
)

describe.each(all)('the template $name for $model and $store', ({ name, model, store }) => {
  it('gives files without a trace of the repository and of what was not chosen', () => {
    create(name, model, store)
    for (const file of filesIn(join(folder, 'app'))) {
      const text = read(file)
      const left = text.match(/workspace:|@troupe-templates|^(<!--|#) (only|end)\b.*|"troupe": \{/gm)
      expect({ file, left }).toEqual({ file, left: null })
      expect(file).not.toMatch(/\.(openai|anthropic|google|ollama|demo|sqlite|memory|postgres)\.tsx?$/)
    }
    const code = filesIn(join(folder, 'app'))
      .filter((file) => /\.tsx?$/.test(file) && !file.includes('.test.'))
      .map(read)
      .join('\n')
    const vendors = MODELS.filter((other) => other !== 'demo' && other !== model)
    for (const other of vendors) expect(code).not.toMatch(new RegExp(`ai-sdk/${other}'`))
    expect(code.includes('aiSdkModel')).toBe(model !== 'demo')
  })

  it('depends on every package that it imports, and on no vendor or store that it does not import', () => {
    create(name, model, store)
    const { dependencies, devDependencies } = JSON.parse(read('package.json'))
    const code = filesIn(join(folder, 'app'))
      .filter((file) => /\.tsx?$/.test(file))
      .map(read)
      .join('\n')
    const imported = [...code.matchAll(/(?:from|import\() ?'((?:@[\w-]+\/)?[a-z][\w-]*)/g)].map(([, name = '']) => name)
    const missing = imported.filter((name) => name !== 'node' && !(name in { ...dependencies, ...devDependencies }))
    expect(missing).toEqual([])
    const chosen = Object.keys(dependencies).filter((name) => /^@ai-sdk|model-ai-sdk|\/store-/.test(name))
    expect(chosen.filter((name) => !code.includes(`'${name}'`))).toEqual([])
    expect(JSON.stringify({ ...dependencies, ...devDependencies })).toContain('"^1.2.3"')
  })
})

describe.each(templates)('the template $name', (template) => {
  it('has what every app has', () => {
    const files = filesOf(template).map(({ file }) => file)
    const needed = [
      '.env.example',
      '.gitignore',
      'AGENTS.md',
      'README.md',
      'package.json',
      'src/demo-model.ts',
      'tsconfig.json',
    ]
    expect(files).toEqual(expect.arrayContaining(needed))
    expect(files.some((file) => file.endsWith('.test.ts'))).toBe(true)
    expect(template.description).toMatch(/^[a-z].{20,120}[^.]$/)
  })

  it('has a file for each model and store that one can choose', () => {
    const files = filesOf(template).map(({ file }) => file)
    const [, ...others] = template.stores
    for (const choice of ['demo', 'ollama', ...others]) {
      expect(files.filter((file) => file.includes(`.${choice}.ts`))).not.toEqual([])
    }
  })

  it('says where what is, and names only files that it has', () => {
    create(template.name)
    for (const page of ['README.md', 'AGENTS.md']) {
      const text = read(page).replaceAll(/^```.*?^```/gms, '')
      const named = [...text.matchAll(/`((?:src|servers|deploy)\/[\w./-]+\.\w+|[\w-]+\.(?:yaml|conf|json))`/g)].map(
        ([, file = '']) => file,
      )
      expect(named.length).toBeGreaterThan(3)
      // What a reader adds or finds later is introduced as an example.
      const missing = named.filter((file) => !existsSync(join(folder, 'app', file)))
      expect(missing.filter((file) => !text.includes(`for example in \`${file}\``))).toEqual([])
    }
  })

  it('has the skill for coding assistants, and tells them where it is', () => {
    create(template.name)
    expect(read('.agents/skills/troupe/SKILL.md')).toMatch(/^---\nname: troupe\n/)
    const links = [...read('.agents/skills/troupe/SKILL.md').matchAll(/\]\((references\/[\w-]+\.md)/g)]
    expect(links.length).toBeGreaterThan(4)
    for (const [, file = ''] of links) expect(read(`.agents/skills/troupe/${file}`).length).toBeGreaterThan(500)
    expect(read('AGENTS.md')).toContain('`.agents/skills/troupe/SKILL.md`')
  })

  it('has its name in its README and its package.json, and no version of the repository', () => {
    expect(create(template.name)).toBe('app')
    expect(read('README.md')).toMatch(/^# app\n/)
    expect(JSON.parse(read('package.json'))).toMatchObject({ name: 'app', version: '0.1.0', private: true })
    expect(JSON.parse(read('package.json')).troupe).toBeUndefined()
  })

  it.each(['pnpm', 'yarn', 'bun'] as const)('speaks of %s if it is chosen', (packageManager) => {
    create(template.name, 'openai', undefined, packageManager)
    const texts = filesIn(join(folder, 'app'))
      .filter((file) => !/\.(ts|tsx|json)$/.test(file))
      .map(read)
    expect(texts.join('\n')).not.toMatch(/\bnpm (start|test|run|ci|install(?! -g))\b|package-lock/)
    expect(texts.join('\n')).toContain(`${packageManager} install`)
  })
})

describe('making an app', () => {
  it('takes a folder with nothing but a repository', () => {
    mkdirSync(join(folder, 'app/.git'), { recursive: true })
    create('console')
    expect(existsSync(join(folder, 'app/src/main.ts'))).toBe(true)
  })

  it('overwrites nothing', () => {
    mkdirSync(join(folder, 'app'))
    writeFileSync(join(folder, 'app/notes.md'), 'mine')
    expect(() => create('console')).toThrow(/app is not empty: it has notes\.md\. Empty it, or give another folder\.$/)
    expect(filesIn(join(folder, 'app'))).toEqual(['notes.md'])
  })

  it('leaves nothing behind if a file cannot be written, but the folder that was there before', () => {
    const target = join(folder, 'app')
    mkdirSync(target)
    const broken = join(folder, 'broken')
    mkdirSync(join(broken, 'deep'), { recursive: true })
    // Both become `deep/.gitignore`, so the second cannot be written.
    for (const file of ['deep/.gitignore', 'deep/gitignore']) writeFileSync(join(broken, file), '')
    writeFileSync(join(broken, 'package.json'), '{}')
    const template = { name: 'broken', description: '', stores: [], folder: broken }
    const options = {
      folder: target,
      template,
      skill: SKILL,
      model: 'demo',
      store: undefined,
      packageManager: 'npm',
      range: '^1.0.0',
    } as const
    expect(() => createApp(options)).toThrow(/\.gitignore cannot be written, so nothing was made: EEXIST/)
    expect(readdirSync(target)).toEqual([])
    expect(() => createApp({ ...options, folder: join(target, 'a/b') })).toThrow(/nothing was made/)
    expect(readdirSync(target)).toEqual([])
  })
})

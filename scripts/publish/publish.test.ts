import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { blocksOf } from '../../tests/docs/guide.fixture.ts'
import { type Machine, plainMachine } from './machine.ts'
import { extrasOf, type Manifest, manifestOf, type Released } from './release.ts'

/** The kinds of plugins that a third party makes with the commands of the guide. */
const KINDS = ['handler', 'tool', 'model', 'agent', 'store', 'callback']
const [JOURNEY = '', USE = ''] = blocksOf('docs/publish-a-plugin.md').flatMap(({ kind, code }) =>
  kind === 'sh' ? [code] : [],
)
const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'troupe-publish-'))
const { tree, url, npmrc, packages, manifests, extras } = inject('release')
/** Without the example, which is packed as any plugin. */
const ours = packages.filter(({ folder }) => folder.startsWith(join(tree, 'packages')))
const app = join(folder, 'app')
let user: Machine

beforeAll(() => {
  // Packages that were installed once come from the cache.
  user = plainMachine(join(folder, 'user'), `${npmrc}prefer-offline=true\n`)
  startProject(app)
})

afterAll(() => rmSync(folder, { recursive: true }))

function startProject(folder: string): void {
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "private": true }')
}

/** Copies a program of `consumer` into the app and runs it. */
async function runProgram(name: string): Promise<string> {
  for (const file of ['stand-in.ts', name]) cpSync(join(import.meta.dirname, 'consumer', file), join(app, file))
  return await user.run(app, 'node', name)
}

/** The packages that npm installed in a project. */
function installedIn(folder: string): string[] {
  const { packages } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
  return Object.keys(packages)
    .filter((path) => path !== '')
    .map((path) => path.replace('node_modules/', ''))
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    statSync(join(folder, file)).isFile(),
  )
}

function bytesIn(folder: string): number {
  return filesIn(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0)
}

/** The files in the archive of every package. */
async function archives(): Promise<{ name: string; files: string[] }[]> {
  const names = packages.map(({ name }) => name)
  const printed = await user.run(folder, 'npm', 'pack', '--dry-run', '--json', ...names)
  const packed = Object.values(JSON.parse(printed)) as { name: string; files: { path: string }[] }[]
  return packed.map(({ name, files }) => ({ name, files: files.map(({ path }) => path) }))
}

/** The manifest of a package's latest version in the registry. */
async function published(name: string): Promise<Manifest> {
  const response = await fetch(`${url}${name.replace('/', '%2f')}/latest`)
  return (await response.json()) as Manifest
}

describe('a release', () => {
  it('publishes every package that is not private, all with one version', async () => {
    const versions = await Promise.all(packages.map(async ({ name }) => (await published(name)).version))
    expect(packages.length).toBeGreaterThan(10)
    expect(new Set(versions)).toEqual(new Set([packages[0]?.version]))
    expect(versions[0]).not.toBe('0.0.0')
  })

  it('has a changelog for every package', () => {
    for (const { folder, version } of packages) {
      expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toContain(`## ${version}\n`)
    }
  })

  it('asks for the kernel of its version, and for nothing that only this workspace has', async () => {
    for (const { name, version } of packages) {
      const { dependencies = {}, peerDependencies = {} } = await published(name)
      expect(JSON.stringify({ dependencies, peerDependencies })).not.toContain('workspace:')
      if (name !== '@troupe/kernel' && !name.startsWith('create-')) {
        // The parts of pages stand on the client of ag-ui, which asks for the kernel.
        const contracts = name === '@troupe/react' ? '@troupe/ag-ui' : '@troupe/kernel'
        expect({ name, asked: peerDependencies[contracts] }).toEqual({ name, asked: `^${version}` })
      }
    }
  })

  it('holds what is built, a README and the licence, and neither sources nor tests', async () => {
    const found = await archives()
    expect(found.map(({ name }) => name).sort()).toEqual(packages.map(({ name }) => name).sort())
    for (const { name, files } of found) {
      expect({ name, files }).toEqual({
        name,
        files: expect.arrayContaining(['README.md', 'LICENSE', 'package.json']),
      })
      const own = files.filter((file) => !/^dist\/(templates|plugins|skill)\//.test(file))
      const wanted =
        /^(README\.md|CHANGELOG\.md|LICENSE|package\.json|docs\/[\w-]+\.md|dist\/[\w-]+(\.d)?\.(js|ts|css))$/
      expect(own.filter((file) => !wanted.test(file))).toEqual([])
      expect(own.filter((file) => file.includes('test.') || /(?<!\.d)\.ts$/.test(file))).toEqual([])
    }
  })

  it('says in each package where its source is, as provenance demands', async () => {
    const { repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    for (const { name, folder } of ours) {
      const directory = relative(tree, folder)
      const { repository: source, homepage, bugs } = (await published(name)) as Manifest & Record<string, unknown>
      expect({ name, source }).toEqual({ name, source: { ...repository, directory } })
      expect(homepage).toMatch(new RegExp(`^https://.*/${directory}#readme$`))
      expect(JSON.stringify(bugs)).toMatch(/https:.*issues/)
    }
  })

  it('has the changelog, the error codes and the guides of its README in each package, with links that lead somewhere', async () => {
    for (const { name } of ours) {
      const unpacked = join(folder, 'unpacked', name)
      mkdirSync(unpacked, { recursive: true })
      await user.run(unpacked, 'npm', 'pack', name)
      const [archive = ''] = readdirSync(unpacked)
      await user.run(unpacked, 'tar', 'xzf', archive)
      const inside = join(unpacked, 'package')
      expect(readFileSync(join(inside, 'CHANGELOG.md'), 'utf8')).toContain('## ')
      const guides = readdirSync(join(inside, 'docs'))
      const linked = readFileSync(join(inside, 'README.md'), 'utf8').matchAll(/\.\.\/\.\.\/docs\/([\w-]+\.md)/g)
      expect({ name, guides }).toEqual({
        name,
        guides: expect.arrayContaining(['errors.md', ...[...linked].map(([, to]) => to)]),
      })
      expect(guides.length).toBeGreaterThan(1)
      for (const guide of guides) {
        const text = readFileSync(join(inside, 'docs', guide), 'utf8')
        const targets = [...text.matchAll(/\]\(([^)\s#]+)/g)].map(([, target = '']) => target)
        expect(targets.filter((target) => !/^https?:/.test(target) && !guides.includes(target))).toEqual([])
      }
    }
  })

  it('leaves the tree as it was', () => {
    expect(packages.map(manifestOf)).toEqual(manifests)
    expect(packages.flatMap(extrasOf)).toEqual(extras)
  })
})

describe('every package', () => {
  it('installs beside all others, and each of its entries loads', async () => {
    const everything = join(folder, 'everything')
    startProject(everything)
    await user.run(
      everything,
      'npm',
      'install',
      ...packages.map(({ name }) => name),
      ...packages.flatMap(optionalPeers),
    )
    // The testkit loads inside vitest only; the tests of the third party use it there.
    const entries = packages
      .filter(({ name }) => name !== '@troupe/testkit')
      .flatMap(({ name, exports = {} }) => Object.keys(exports).map((entry) => join(name, entry)))
      // A style sheet is for bundlers.
      .filter((entry) => !entry.endsWith('.css'))
    const program = entries.map((entry) => `import * as a${entries.indexOf(entry)} from '${entry}'`)
    const lengths = entries.map((_, i) => `Object.keys(a${i}).length`)
    writeFileSync(join(everything, 'main.ts'), `${program.join('\n')}\nconsole.log(Math.min(${lengths.join(', ')}))\n`)
    expect(entries.length).toBeGreaterThan(12)
    expect(Number(await user.run(everything, 'node', 'main.ts'))).toBeGreaterThan(0)
  })

  function optionalPeers({ peerDependencies = {}, peerDependenciesMeta = {} }: Released): string[] {
    return Object.keys(peerDependenciesMeta).map((name) => `${name}@${peerDependencies[name]}`)
  }
})

describe('an app on a machine with Node and npm', () => {
  it('runs an agent with the kernel and the chat model', async () => {
    await user.run(app, 'npm', 'install', '@troupe/kernel', '@troupe/chat-model')
    expect(await runProgram('agent.ts')).toBe('calls get_weather\nsays Sunny in Beijing.\n')
    expect(await runProgram('contracts.ts')).toBe('true\n')
  })

  it('adds the flow and transfers to another agent', async () => {
    await user.run(app, 'npm', 'install', '@troupe/flow')
    expect(await runProgram('transfer.ts')).toBe('turn of router\nturn of router > weather\nsays Sunny in Beijing.\n')
  })

  it('has four packages and at most 1.5 MB for the three it asked for', () => {
    const bytes = bytesIn(join(app, 'node_modules'))
    console.log(`kernel, chat-model and flow: ${installedIn(app).length} packages, ${(bytes / 1e6).toFixed(2)} MB`)
    expect(installedIn(app)).toEqual(['@cfworker/json-schema', '@troupe/chat-model', '@troupe/flow', '@troupe/kernel'])
    expect(bytes).toBeLessThan(1.5e6)
  })

  it('gets the same package from plain npm as from the release', async () => {
    const other = join(folder, 'packed')
    startProject(other)
    await user.run(join(tree, 'packages/chat-model'), 'npm', 'pack', '--pack-destination', other)
    const [archive = ''] = readdirSync(other).filter((file) => file.endsWith('.tgz'))
    await user.run(other, 'npm', 'install', `./${archive}`)
    const [packed, released] = [other, app].map((project) => {
      const installed = join(project, 'node_modules/@troupe/chat-model')
      const {
        scripts: _,
        devDependencies: __,
        ...manifest
      } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
      return { manifest, files: filesIn(installed).sort() }
    })
    expect(packed).toEqual(released)
  })
})

describe('a third party', () => {
  const make = join(folder, 'plugins')

  /** Runs the commands of the guide for a plugin of one kind; returns the output of each. */
  async function follow(commands: string, kind: string, start: string): Promise<Map<string, string>> {
    const lines = commands.trim().split('\n')
    const printed = new Map<string, string>()
    let cwd = start
    for (const line of lines) {
      const own = line.replaceAll('my-clock', `my-${kind}`).replace('--kind tool', `--kind ${kind}`)
      const [command = '', ...args] = own.split(' ')
      if (command === 'cd') cwd = join(cwd, args[0] ?? '')
      else printed.set(line, await user.run(cwd, command, ...args))
    }
    return printed
  }

  async function makeAndPublish(kind: string): Promise<void> {
    const printed = await follow(JOURNEY, kind, make)
    const outputs = [...printed.values()].join('\n')
    expect(outputs).toContain(`Made @acme/my-${kind} in my-${kind}: `)
    expect(printed.get('npm test')).toMatch(/Tests +\d+ passed/)
    const plugin = join(make, `my-${kind}`)
    expect(filesIn(join(plugin, 'dist')).sort()).toEqual(['index.d.ts', 'index.js'])
    expect(readFileSync(join(plugin, 'LICENSE'), 'utf8')).toContain(`the authors of @acme/my-${kind}`)
    const { peerDependencies } = await published(`@acme/my-${kind}`)
    expect(peerDependencies).toEqual({ '@troupe/kernel': `^${packages[0]?.version}` })
  }

  it('has a guide with commands that make, test, build and publish, to this registry alone', async () => {
    mkdirSync(make)
    expect(JOURNEY.split('\n')).toEqual(
      expect.arrayContaining(['npm install', 'npm test', 'npm run build', 'npm publish']),
    )
    expect(USE).toMatch(/^npm install .*@acme\/my-clock\n$/)
    expect((await user.run(make, 'npm', 'config', 'get', 'registry')).trim()).toBe(url)
  })

  it('follows the guide for a handler', async () => {
    await makeAndPublish('handler')
    const printed = await user.run(join(make, 'my-handler'), 'npm', 'pack', '--dry-run', '--json')
    const [{ files }] = Object.values(JSON.parse(printed)) as [{ files: { path: string }[] }]
    expect(files.map(({ path }) => path).sort()).toEqual(
      ['LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js', 'package.json'].sort(),
    )
  })

  it('follows the guide for every other kind', async () => {
    await Promise.all(KINDS.filter((kind) => kind !== 'handler').map(makeAndPublish))
  })

  it('may leave the -- out, with a warning of npm', async () => {
    await user.run(make, 'npm', 'create', 'troupe-plugin', 'my-other-clock', '--kind', 'callback')
    expect(readFileSync(join(make, 'my-other-clock/src/index.ts'), 'utf8')).toContain('): Callback {')
  })

  it('changes what an app does that installs the plugins', async () => {
    const [command = '', ...args] = USE.trim().split(' ')
    const plugins = KINDS.map((kind) => `@acme/my-${kind}`)
    await user.run(app, command, ...args.filter((arg) => arg !== '@acme/my-clock'), ...plugins)
    expect((await runProgram('third-party.ts')).split('\n')).toEqual([
      'says SUNNY IN BEIJING.!!!',
      'used 40 tokens in 2 calls',
      'kept 4 messages',
      'knows We are open from 9 to 5.',
      '',
    ])
    expect(installedIn(app)).toEqual(expect.arrayContaining(plugins))
    expect(installedIn(app)).toHaveLength(4 + plugins.length)
  })
})

describe('the types of what is published', () => {
  it.each([
    ['nodenext', 'nodenext'],
    ['bundler', 'esnext'],
  ])('hold in a strict app with moduleResolution %s', (moduleResolution, module) => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      target: 'es2024',
      lib: ['es2024', 'dom', 'esnext.disposable'],
      types: [],
      module,
      moduleResolution,
    }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
    expect(compile()).toBe('')
    expect(filesIn(app).filter((file) => /^[\w-]+\.ts$/.test(file))).toHaveLength(5)
  })

  function compile(): string {
    try {
      return execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd: app, encoding: 'utf8' })
    } catch (error) {
      return (error as { stdout: string }).stdout
    }
  }
})

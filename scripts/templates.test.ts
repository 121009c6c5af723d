import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { MODELS } from '../packages/create-app/src/choices.ts'
import { createApp } from '../packages/create-app/src/create-app.ts'
import { templatesIn } from '../packages/create-app/src/template.ts'
import { link } from '../tests/docs/guide.fixture.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const templates = templatesIn(join(root, 'templates'))
const skill = join(root, 'skills/troupe')
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-made-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Makes an app for each model and each store of each template; gives the folders. */
function makeAll(): readonly string[] {
  return templates.flatMap((template) => {
    const stores = template.stores.length === 0 ? [undefined] : template.stores
    return MODELS.flatMap((model) =>
      stores.map((store) => {
        const made = join(folder, [template.name, model, store ?? 'own'].join('-'))
        createApp({ folder: made, template, skill, model, store, packageManager: 'npm', range: '^1.0.0' })
        return made
      }),
    )
  })
}

it('every template for every model and store type-checks as it is made, with the code of its README', () => {
  const made = makeAll()
  expect(made.length).toBeGreaterThan(40)
  const { compilerOptions } = JSON.parse(readFileSync(join(made[0] ?? '', 'tsconfig.json'), 'utf8'))
  for (const app of made) {
    const { dependencies, devDependencies } = JSON.parse(readFileSync(join(app, 'package.json'), 'utf8'))
    // The compiler is asked once for all apps, so all of them find their packages above.
    for (const name of Object.keys({ ...dependencies, ...devDependencies })) link(folder, name)
    for (const [i, code] of readmeCode(join(app, 'README.md')).entries())
      writeFileSync(join(app, 'src/modules', `readme-${i}.ts`), code)
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  // For templates with a page, which Vite builds.
  const options = {
    ...compilerOptions,
    lib: [...compilerOptions.lib, 'dom', 'dom.iterable'],
    types: [...compilerOptions.types, 'vite/client'],
    jsx: 'react-jsx',
  }
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: options, include: ['*/src', '*/page'] }),
  )
  expect(compile()).toBe('')
})

/** The code of a README in TypeScript. */
function readmeCode(file: string): readonly string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => code)
}

function compile(): string {
  try {
    return execFileSync(join(root, 'node_modules/.bin/tsc'), { cwd: folder, encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

describe.each(templates.map(({ name }) => name))('the template %s', (name) => {
  it('has the versions of libraries that are installed here', () => {
    const { dependencies, devDependencies } = JSON.parse(read(`templates/${name}/package.json`))
    const known = globSync('{apps,packages,tests}/*/package.json', { cwd: root }).map((file) => JSON.parse(read(file)))
    const all = known.map((one) => ({ ...one.dependencies, ...one.devDependencies }))
    for (const [library, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      const others = all.flatMap((one) => (library in one ? [one[library]] : []))
      if (others.length > 0) expect({ library, version }).toEqual({ library, version: others[0] })
    }
  })

  it('is in the tables of the command and of the templates', () => {
    expect(read('packages/create-app/README.md')).toContain(`| \`${name}\` |`)
    expect(read('templates/README.md')).toContain(`| [${name}](${name}) |`)
  })

  it('tells assistants only names that packages export', () => {
    const named = [...read(`templates/${name}/AGENTS.md`).matchAll(/`(\w+)` (?:or `\w+` )?of `(@troupe\/[\w/-]+)`/g)]
    expect(named.length).toBeGreaterThan(2)
    for (const [, export_ = '', entry = ''] of named) {
      const [scope, folder, ...path] = entry.split('/')
      const manifest = JSON.parse(read(`packages/${folder}/package.json`))
      const file = manifest.exports[path.length === 0 ? '.' : `./${path.join('/')}`]
      expect({ scope, entry, file: typeof file }).toEqual({ scope, entry, file: 'string' })
      expect({ entry, names: read(`packages/${folder}/${file}`) }).toEqual({
        entry,
        names: expect.stringMatching(new RegExp(`\\b${export_}\\b`)),
      })
    }
  })
})

describe('the deployment of the template cluster', () => {
  const compose = parse(read('templates/cluster/compose.yaml'), { merge: true })
  const services = Object.entries<Record<string, never>>(compose.services)

  it('depends only on services, files and programs that are there', () => {
    expect(services.map(([name]) => name)).toEqual(['proxy', 'server', 'workers', 'postgres', 'restate', 'collector'])
    for (const [, { depends_on = {}, volumes = [] as string[], command = [] as string[] }] of services) {
      const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
      expect(Object.keys(compose.services)).toEqual(expect.arrayContaining(needed))
      const files = (volumes as string[])
        .filter((volume) => volume.startsWith('./'))
        .map((volume) => volume.split(':')[0])
      const programs = (command as string[]).filter((word) => word.startsWith('src/'))
      for (const file of [...files, ...programs])
        expect(existsSync(join(root, 'templates/cluster', file ?? ''))).toBe(true)
    }
  })

  it('sets only variables that the app, its vendor or its exporters read', () => {
    const code = globSync('src/**/*.ts', { cwd: join(root, 'templates/cluster') })
      .filter((file) => !file.includes('.test.'))
      .map((file) => read(`templates/cluster/${file}`))
      .join('\n')
    const set = ['server', 'workers'].flatMap((name) => Object.keys(compose.services[name].environment))
    expect(set.filter((name) => !code.includes(name))).toEqual([])
    expect(set).toEqual(expect.arrayContaining(['DATABASE_URL', 'RESTATE_INGRESS', 'RESTATE_ADMIN', 'TOKEN_SECRET']))
  })

  it('has the addresses of its services, two of each program, and the versions that are tested', () => {
    const { server, workers, restate } = compose.services
    expect([server.deploy, workers.deploy]).toEqual([{ replicas: 2 }, { replicas: 2 }])
    expect(server.environment.DATABASE_URL).toBe(workers.environment.DATABASE_URL)
    expect(workers.environment.WORKERS).toBe('http://workers:9080')
    expect(read('templates/cluster/deploy/nginx.conf')).toContain(`server server:${server.environment.PORT} resolve;`)
    const { optionalDependencies } = JSON.parse(read('package.json'))
    expect(restate.image).toBe(`restatedev/restate:${optionalDependencies['@restatedev/restate-server-linux-x64']}`)
    const collector = parse(read('templates/cluster/deploy/collector.yaml'))
    expect(server.environment.OTEL_EXPORTER_OTLP_ENDPOINT).toBe('http://collector:4318')
    expect(collector.receivers.otlp.protocols.http.endpoint).toBe('0.0.0.0:4318')
    expect(restate.ports).toBeUndefined()
  })

  it('has a container with a Node that our packages take', () => {
    const dockerfile = read('templates/cluster/Dockerfile')
    const [, node] = /^FROM node:(\d+)-slim$/m.exec(dockerfile) ?? []
    const { engines } = JSON.parse(read('templates/cluster/package.json'))
    expect(Number(node)).toBeGreaterThanOrEqual(Number.parseFloat(engines.node.replace('>=', '')))
    const copied = [...dockerfile.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, files = '']) => files.split(' '))
    const missing = copied.filter((file) => !existsSync(join(root, 'templates/cluster', file)))
    // npm install makes it.
    expect(missing).toEqual(['package-lock.json'])
  })
})

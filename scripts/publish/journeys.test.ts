import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { blocksOf, root } from '../../tests/docs/guide.fixture.ts'
import { refusingVendor } from '../../tests/docs/refusing-vendor.fixture.ts'
import { GuideReader } from './guide-reader.ts'
import { plainMachine } from './machine.ts'

const { npmrc } = inject('release')
const folder = mkdtempSync(join(tmpdir(), 'troupe-journeys-'))
const user = plainMachine(join(folder, 'user'), npmrc)

afterAll(() => rmSync(folder, { recursive: true }))

/** A weather service on loopback. */
async function startWeather(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = createServer(({ url }, response) => void response.end(url?.includes('Rome') ? SUNNY : RAINY))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}
const [SUNNY, RAINY] = ['Sunny +24°C', 'Light rain +9°C']

/** Counts the packages that npm has installed in a project, and their size in megabytes. */
function installed(project: string): { readonly packages: number; readonly megabytes: number } {
  const { packages } = JSON.parse(readFileSync(join(project, 'package-lock.json'), 'utf8'))
  const files = readdirSync(join(project, 'node_modules'), { recursive: true, encoding: 'utf8' })
  const sizes = files.map((file) => statSync(join(project, 'node_modules', file))).filter((entry) => entry.isFile())
  return {
    packages: Object.keys(packages).filter((path) => path !== '').length,
    megabytes: sizes.reduce((sum, { size }) => sum + size, 0) / 1e6,
  }
}

const typescript = readFileSync(join(root, 'docs/typescript.md'), 'utf8')

describe('install only what you need', () => {
  const page = 'docs/install-only-what-you-need.md'
  const rows = [
    ...readFileSync(join(root, page), 'utf8').matchAll(/^\|[^|]+\| `([^`]+)` \| (\d+) \| ([\d.]+) MB \|$/gm),
  ]
  let reader: GuideReader

  it('in TypeScript and in JavaScript, package by package, as the guide says', async () => {
    reader = new GuideReader(user, join(folder, 'install'), ['NODE_NO_WARNINGS=1'])
    await reader.read(page)
    expect(installed(reader.folder).packages).toBe(1)
  })

  it('compiled to JavaScript, with what the guide says to change in the tsconfig', async () => {
    const project = join(folder, 'install/my-agent')
    const config = readFileSync(join(project, 'tsconfig.json'), 'utf8')
    const [, section = ''] = /^## A program that is compiled\n(.*?)^## /ms.exec(typescript) ?? []
    const changes = [...section.matchAll(/`(".+?)` by\s+`(".+?)`/g)]
    expect(changes).toHaveLength(2)
    const compiled = changes.reduce((text, [, from = '', to = '']) => text.replace(from, to), config)
    writeFileSync(join(project, 'tsconfig.json'), compiled)
    await user.run(project, 'npx', 'tsc')
    expect(await user.run(project, 'node', 'dist/ask.js')).toBe('It is 5.\n')
  })

  it.each(rows.map(([, names = '', packages, megabytes]) => ({ names, packages, megabytes })))(
    '$names: at most $packages packages and $megabytes MB',
    async ({ names, packages, megabytes }) => {
      const project = join(folder, `row-${names.replaceAll(/\W+/g, '-')}`)
      mkdirSync(project)
      writeFileSync(join(project, 'package.json'), '{ "type": "module", "private": true }')
      await user.run(project, 'npm', 'install', ...names.split(' '))
      const found = installed(project)
      console.log(`${names}: ${found.packages} packages, ${found.megabytes.toFixed(2)} MB`)
      expect(found.packages).toBeLessThanOrEqual(Number(packages))
      expect(found.megabytes).toBeLessThanOrEqual(Number(megabytes))
      // A figure that is far too large is as wrong as one that is too small.
      expect(found.packages).toBeGreaterThanOrEqual(Number(packages) / 2)
      expect(found.megabytes).toBeGreaterThanOrEqual(Number(megabytes) / 3)
    },
  )
})

describe('an application in two hundred lines', () => {
  const page = 'docs/two-hundred-lines.md'
  const code = blocksOf(page).filter(({ kind, file }) => kind === 'ts' && file)
  let weather: Awaited<ReturnType<typeof startWeather>>
  let reader: GuideReader

  beforeAll(async () => {
    weather = await startWeather()
  })
  afterAll(() => weather?.[Symbol.asyncDispose]())

  it('has about two hundred lines, without its tests', () => {
    const lines = code.filter(({ file }) => !file?.includes('.test.')).flatMap(({ code }) => code.trim().split('\n'))
    expect(lines.length).toBeGreaterThan(150)
    expect(lines.length).toBeLessThan(220)
  })

  it('does what the guide says, and its tests pass', async () => {
    reader = new GuideReader(user, join(folder, 'application'), [`WEATHER_URL=${weather.url}`, 'NODE_NO_WARNINGS=1'])
    await reader.read(page)
    expect(await reader.type('npm test')).toMatch(/Tests +3 passed/)
    expect(readFileSync(join(reader.folder, 'notes.txt'), 'utf8')).toBe('to buy a map\n')
  })

  it('killed at a question, it asks again and goes on', async () => {
    const env = { PATH: '/usr/bin:/bin', WEATHER_URL: weather.url }
    const args = ['--no-warnings', 'main.ts', 'killed', 'Please remember the tickets']
    const child = spawn(process.execPath, args, { cwd: reader.folder, env, stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'exit')
    let printed = ''
    for await (const chunk of child.stdout) {
      printed += chunk
      if (printed.includes('[y/n]')) child.kill('SIGKILL')
    }
    expect(await ended).toEqual([null, 'SIGKILL'])
    expect(readFileSync(join(reader.folder, 'notes.txt'), 'utf8')).not.toContain('tickets')
    expect(await reader.type('node main.ts killed "Hello"', ['y'])).toBe(
      [
        'Allow save_note? {"note":"the tickets"} [y/n]   desk › secretary → save_note {"note":"the tickets"}',
        'Noted: the tickets',
        'You have asked 2 times. I know about weather, packing and notes.\n',
      ].join('\n'),
    )
  })

  it('with a key that the vendor refuses, it says so and fails', async () => {
    await using vendor = await refusingVendor(401, 'Incorrect API key')
    const env = `OPENAI_API_KEY=wrong OPENAI_BASE_URL=${vendor.url}/v1`
    await expect(reader.type(`${env} node main.ts trip Hello`)).rejects.toThrow(/ended with 1\n.*MODEL_AUTH_FAILED/s)
    expect(vendor.bodies).toHaveLength(1)
  })

  it('when the weather service is down, the model gets the error and the conversation goes on', async () => {
    const printed = await reader.type('WEATHER_URL=http://127.0.0.1:1 node main.ts down "How is the weather in Rome?"')
    expect(printed).toContain('desk › traveller ✗ Error: fetch failed')
  })

  it('its types hold with the tsconfig of the guide', async () => {
    const [config] = blocksOf('docs/typescript.md').filter(({ file }) => file === 'tsconfig.json')
    reader.write('tsconfig.json', config?.code ?? '')
    await reader.type('npm install --save-dev typescript @types/node')
    expect(await reader.type('npx tsc')).toBe('')
    expect(existsSync(join(reader.folder, 'main.js'))).toBe(false)
  })
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

const main = new URL('main.ts', import.meta.url).pathname

/** Starts the app; gives what it prints and how it ends. */
function demo(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [main, ...args], { env: { PATH: process.env.PATH, ...env } })
  const printed = { out: '', err: '' }
  child.stdout.on('data', (chunk) => (printed.out += chunk))
  child.stderr.on('data', (chunk) => (printed.err += chunk))
  return { child, printed, ended: once(child, 'exit').then(([code]) => ({ code, ...printed })) }
}

it('answers a question and shows the run, plain when piped', async () => {
  const { code, out, err } = await demo(["What's the weather in Beijing?"]).ended
  expect([code, err]).toEqual([0, ''])
  expect(out).toContain('● RouterAgent\n  → transfer_to_agent {"agent_name":"WeatherAgent"}\n')
  expect(out).toContain('● RouterAgent › WeatherAgent\n')
  expect(out).toContain('→ get_weather {"city":"Beijing"}')
  expect(out).toContain('I am a demo model')
  expect(out).toMatch(/✔ complete · 3 model calls · \d+ tokens in, \d+ out · \d+ ms\n$/)
  expect(out).not.toContain('\u001b')
})

it('hands small talk to the one for it', async () => {
  const { code, out } = await demo(['Hello there']).ended
  expect(code).toBe(0)
  expect(out).toContain('● RouterAgent › ChatAgent\n  I am a demo model')
})

it('prints the tree of agents', async () => {
  const { code, out } = await demo(['--agents']).ended
  expect(code).toBe(0)
  expect(out).toContain('RouterAgent: A router that transfers tasks to other agents.\n├─ ChatAgent: ')
  expect(out).toContain('flowchart TD')
})

it('prints its usage', async () => {
  expect(await demo(['--help']).ended).toMatchObject({ code: 0, out: expect.stringContaining('Usage: pnpm demo') })
})

it('says which key is missing, without a stack', async () => {
  expect(await demo(['Hi'], { TROUPE_MODEL: 'google:gemini' }).ended).toEqual({
    code: 2,
    out: '',
    err: 'TROUPE_MODEL: google needs a key; set GOOGLE_GENERATIVE_AI_API_KEY, or unset TROUPE_MODEL for the demo model\n',
  })
})

it('stops cleanly on Ctrl-C, while a vendor is silent', async () => {
  const { createServer } = await import('node:http')
  const server = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  const env = { TROUPE_MODEL: 'ollama:silent', OLLAMA_BASE_URL: `http://127.0.0.1:${port}/v1` }
  const { child, ended } = demo(['Hi'], env)
  await once(server, 'request')
  child.kill('SIGINT')
  const { code, out, err } = await ended
  server.closeAllConnections()
  server.close()
  expect([code, err]).toEqual([130, ''])
  expect(out).toContain('✗ cancelled')
})

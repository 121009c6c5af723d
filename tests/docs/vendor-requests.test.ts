import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { blocksOf, importsOf, link } from './guide.fixture.ts'
import { refusingVendor } from './refusing-vendor.fixture.ts'

const blocks = blocksOf('docs/prompt-caching.md').filter(({ file }) => file)
const PICTURE = 'iVBORw0KGgo='
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-wire-'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const { file = '', code } of blocks) {
    // Google's provider does not read its address from the environment.
    const local = code
      .replace('import { google }', 'import { createGoogle }')
      .replace('google(', 'createGoogle({ baseURL: process.env.GOOGLE_BASE_URL })(')
    writeFileSync(join(folder, file), local)
    if (file === 'openai.ts') writeFileSync(join(folder, 'openai-chat.ts'), local.replace("openai('", "openai.chat('"))
    for (const name of importsOf(code)) link(folder, name)
  }
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Starts a run of an agent of the guide and returns the request that its vendor got. */
async function sent(file: string, input: string): Promise<Record<string, unknown>> {
  await using vendor = await refusingVendor(400, 'no')
  const names = ['OPENAI', 'ANTHROPIC', 'GOOGLE']
  const addresses = Object.fromEntries(names.map((name) => [`${name}_BASE_URL`, `${vendor.url}/v1`]))
  const keys = Object.fromEntries([...names, 'GOOGLE_GENERATIVE_AI'].map((name) => [`${name}_API_KEY`, 'key']))
  const program = `
    import { startRun } from '@troupe/kernel/run'
    import { agent } from './${file}'
    import { about } from './document.ts'
    await startRun(agent, ${input}).catch(({ code }) => console.log(code))`
  writeFileSync(join(folder, 'main.ts'), `// @ts-nocheck\n${program}`)
  const env = { PATH: process.env.PATH, ...addresses, ...keys }
  const { stdout } = await promisify(execFile)(process.execPath, ['--no-warnings', 'main.ts'], { cwd: folder, env })
  expect(stdout).toBe('MODEL_REQUEST_INVALID\n')
  expect(vendor.bodies).toHaveLength(1)
  return vendor.bodies[0] as Record<string, unknown>
}

describe('prompt caching', () => {
  it('OpenAI is sent the key', async () => {
    expect(await sent('openai.ts', "'Hi'")).toMatchObject({ prompt_cache_key: 'support' })
  })

  it('Anthropic is sent the mark of the request', async () => {
    expect(await sent('anthropic.ts', "'Hi'")).toMatchObject({ cache_control: { type: 'ephemeral' } })
  })

  it('Anthropic is sent the mark of a part', async () => {
    const marked = { type: 'text', text: 'All of it.', cache_control: { type: 'ephemeral', ttl: '1h' } }
    expect(await sent('anthropic.ts', "{ messages: about('All of it.', 'What?') }")).toMatchObject({
      messages: [{ role: 'user', content: [marked, { type: 'text', text: 'What?' }] }],
    })
  })

  it('another vendor does not get that mark', async () => {
    expect(JSON.stringify(await sent('openai.ts', "{ messages: about('All of it.', 'What?') }"))).not.toMatch(
      /ephemeral/,
    )
  })

  it('Google is sent the name of the cache', async () => {
    expect(await sent('google.ts', "'Hi'")).toMatchObject({ cachedContent: 'cachedContents/handbook' })
  })
})

describe('attachments', () => {
  const file = { type: 'file', mediaType: 'image/png', data: PICTURE }
  const question = { role: 'user', content: 'How were the sales?' }
  const call = { role: 'assistant', content: '', toolCalls: [{ id: 'c1', name: 'chart', arguments: '{}' }] }
  const result = { role: 'tool', callId: 'c1', name: 'chart', content: [{ type: 'text', text: 'Sales:' }, file] }
  const messages = JSON.stringify({ messages: [question, call, result] })

  it.each([
    ['openai.ts', { type: 'input_image', image_url: `data:image/png;base64,${PICTURE}` }],
    ['anthropic.ts', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }],
    ['google.ts', { inlineData: { mimeType: 'image/png', data: PICTURE } }],
  ])('the vendor of %s gets the picture of a tool as a picture', async (agent, picture) => {
    expect(JSON.stringify(await sent(agent, messages))).toContain(JSON.stringify(picture))
  })

  it('the chat API of OpenAI gets it as text', async () => {
    const { messages: all } = await sent('openai-chat.ts', messages)
    expect((all as { content: unknown }[]).at(-1)?.content).toContain(`"data":"${PICTURE}"`)
  })

  it.each(['openai.ts', 'openai-chat.ts', 'anthropic.ts', 'google.ts'])(
    'the vendor of %s gets a picture and a PDF of a message',
    async (agent) => {
      const pdf = { type: 'file', mediaType: 'application/pdf', data: 'JVBERi0=', name: 'a.pdf' }
      const body = await sent(agent, JSON.stringify({ messages: [{ role: 'user', content: [file, pdf] }] }))
      expect(JSON.stringify(body)).toContain(PICTURE)
      expect(JSON.stringify(body)).toContain('JVBERi0=')
    },
  )
})

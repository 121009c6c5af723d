import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { eventsOf, questionOf, textIn } from '../../examples/worker/src/events.ts'
import { bundle } from '../integration/src/without-node/bundle.fixture.ts'
import { hasWorkerd, WorkerdProcess } from '../integration/src/without-node/workerd.fixture.ts'
import { blocksOf, importsOf, link } from './guide.fixture.ts'

/** Replaces the model of the guide, which needs a key: it repeats its input. */
const MODEL = `
import { textOf } from '@troupe/kernel'
export const modelOf = (settings) => ({
  name: 'stand-in',
  async *stream({ messages }) {
    yield { type: 'text-delta', delta: textOf(messages.at(-1).content) + ' ' + JSON.stringify(settings) }
    yield { type: 'finish', reason: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }
  },
})
`

const blocks = blocksOf('docs/browser-and-workers.md')
let folder = ''

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-worker-guide-'))
  for (const { file, code } of blocks) if (file) writeFileSync(join(folder, file), code)
  for (const name of blocks.flatMap(({ code }) => importsOf(code))) link(folder, name)
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(() => rmSync(folder, { recursive: true }))

it('the worker and the page of the guide need nothing of Node, including the model of a vendor', async () => {
  for (const file of ['worker.ts', 'page.ts']) {
    const { missing, sources } = await bundle(join(folder, file))
    expect(missing).toEqual([])
    expect(sources.some((path) => path.includes('@ai-sdk/openai'))).toBe(true)
  }
})

it.skipIf(!hasWorkerd)('the worker of the guide answers a user who has signed in', async () => {
  writeFileSync(join(folder, 'model.ts'), `// @ts-nocheck\n${MODEL}`)
  const { code } = await bundle(join(folder, 'worker.ts'))
  await using worker = await WorkerdProcess.start(code, { OPENAI_API_KEY: 'secret' })
  const question = questionOf(`${worker.url}/agent`, 't1', 'Hello')
  expect((await fetch(question.clone())).status).toBe(401)
  question.headers.set('x-user', 'ann')
  expect(textIn(await eventsOf(await fetch(question)))).toBe('Hello {"apiKey":"secret"}')
})

it('the page of the guide shows what is said', async () => {
  writeFileSync(join(folder, 'model.ts'), `// @ts-nocheck\n${MODEL}`)
  const { code } = await bundle(join(folder, 'page.ts'))
  writeFileSync(join(folder, 'page.js'), `const location = { href: 'https://shop.test/chat' }\n${code}`)
  const { ask } = await import(join(folder, 'page.js'))
  const shown: string[] = []
  await ask('Hello', (text: string) => shown.push(text))
  expect(shown.join('')).toBe('Hello {"apiKey":"added by the server","baseURL":"https://shop.test/model"}')
})

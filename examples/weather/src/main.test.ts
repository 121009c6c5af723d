import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { LLMock } from '@copilotkit/aimock'
import { expect, it } from 'vitest'

const here = (path: string) => new URL(path, import.meta.url)

it('is the program of the README, to the letter', () => {
  expect(readFileSync(here('../../../README.md'), 'utf8')).toContain(
    `\`\`\`ts\n${readFileSync(here('main.ts'), 'utf8')}\`\`\``,
  )
})

it('asks the vendor, runs the tool, and prints the answer', async () => {
  const mock = new LLMock({ port: 0, host: '127.0.0.1' })
  const toolCalls = [{ id: 'call_1', name: 'get_weather', arguments: '{"city":"Beijing"}' }]
  mock
    .on({ userMessage: 'weather', hasToolResult: true }, { content: 'It is sunny in Beijing.' })
    .on({ userMessage: 'weather' }, { toolCalls })
  await mock.start()
  try {
    const env = { PATH: process.env.PATH, OPENAI_API_KEY: 'key', OPENAI_BASE_URL: `${mock.url}/v1` }
    const { stdout } = await promisify(execFile)(process.execPath, [here('main.ts').pathname], { env })
    expect(stdout).toBe('It is sunny in Beijing.')
  } finally {
    await mock.stop()
  }
})

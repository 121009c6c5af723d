import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { blocksOf, importsOf, link } from './guide.fixture.ts'

const run = promisify(execFile)
const guide = blocksOf('docs/structured-output.md').find(({ file }) => file === 'forecast.ts')?.code ?? ''

/** Uses the function of the guide with OpenAI's provider. */
const PROGRAM = `
import { createOpenAI } from '@ai-sdk/openai'
import { aiSdkModel } from '@troupe/model-ai-sdk'
import { forecast } from './forecast.ts'

const openai = createOpenAI({ apiKey: 'k', baseURL: process.argv[2] })
console.log(JSON.stringify(await forecast(aiSdkModel(openai.chat('gpt-4o')), 'How is the weather in Rome?')))
`

it('the agent of the guide gets its value from a vendor that is strict', async () => {
  const bodies: { response_format: { json_schema: { strict: boolean; schema: object } } }[] = []
  const said = { city: 'Rome', degrees: 21, wind: null, sky: { kind: 'clear', uv: null } }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    bodies.push(JSON.parse(body))
    const chunk = { id: '1', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o' }
    const choices = [
      { index: 0, delta: { content: JSON.stringify(said) } },
      { index: 0, delta: {}, finish_reason: 'stop' },
    ]
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const choice of choices) response.write(`data: ${JSON.stringify({ ...chunk, choices: [choice] })}\n\n`)
    response.end('data: [DONE]\n\n')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'troupe-guide-'))
  try {
    const { port } = server.address() as AddressInfo
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'forecast.ts'), guide)
    writeFileSync(join(folder, 'program.ts'), PROGRAM)
    for (const name of importsOf(guide + PROGRAM)) link(folder, name)
    const args = ['--no-warnings', 'program.ts', `http://127.0.0.1:${port}/v1`]
    const { stdout } = await run(process.execPath, args, { cwd: folder, timeout: 15_000 })
    expect(JSON.parse(stdout)).toEqual({ city: 'Rome', degrees: 21, sky: { kind: 'clear' } })
    expect(bodies).toMatchObject([
      {
        response_format: {
          json_schema: {
            strict: true,
            schema: { additionalProperties: false, required: ['city', 'degrees', 'wind', 'sky'] },
          },
        },
      },
    ])
  } finally {
    server.close()
    rmSync(folder, { recursive: true })
  }
})

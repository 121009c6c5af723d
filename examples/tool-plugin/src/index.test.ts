import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createRunContext } from '@troupe/kernel/run'
import { testTool } from '@troupe/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { webPage } from './index.ts'

const PAGE = '<html><style>b { color: red }</style><h1>Beijing</h1><p>A <b>large</b> city.</p></html>'
let server: Server
let host: string

beforeAll(async () => {
  server = createServer(({ url }, response) => {
    if (url === '/moved') response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    else response.end(PAGE)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

// The conformance suite: what an agent expects of a tool. The server has its address when the tests run.
const anywhere: typeof fetch = (_url, init) => fetch(`http://${host}/`, init)
testTool('webPage', () => webPage({ hosts: ['example.org'], fetch: anywhere }), {
  args: { url: 'https://example.org/' },
  invalid: [{}, { url: 1 }, { url: 'https://example.org/', more: true }],
})

const read = async (path: string, maxChars = 100) => {
  const call = { name: 'web_page', arguments: '{}', callId: 'c1', step: 'tool:0:0', idempotencyKey: 'c1' }
  return await webPage({ hosts: [host], maxChars }).invoke?.({ url: `http://${host}${path}` }, createRunContext(), call)
}

it('gives the words of a page, as many as it may', async () => {
  expect(await read('/')).toMatchObject({ content: 'Beijing A large city.', data: { cut: false } })
  expect(await read('/', 7)).toMatchObject({ content: 'Beijing', data: { cut: true } })
})

it('does not follow a page that leads elsewhere', async () => {
  await expect(read('/moved')).rejects.toThrow('answers with status 302')
})

it.each(['http://127.0.0.1:1/', 'file:///etc/passwd', 'nothing'])('does not read %s', async (url) => {
  const { invoke } = webPage({ hosts: ['example.org'] })
  await expect(async () => invoke?.({ url }, createRunContext(), {} as never)).rejects.toMatchObject({
    code: 'TOOL_FAILED',
  })
})

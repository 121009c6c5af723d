import { expect, it } from 'vitest'
import { guardedFetch } from './guarded-fetch.ts'

const fine = async () => new Response('ok')
const rules = { server: 'it', trusted: false, maxMessageBytes: 100, fetch: fine }

it.each([
  'http://127.0.0.1/',
  'http://localhost:3000/',
  'http://10.1.2.3/',
  'http://172.20.0.1/',
  'http://192.168.1.1/',
  'http://169.254.169.254/latest/meta-data',
  'http://100.64.0.1/',
  'http://0.0.0.0/',
  'http://[::1]/',
  'http://[fd00::1]/',
  'http://[fe80::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[fec0::1]/',
  'http://2130706433/',
  'http://0x7f.1/',
])('refuses the private address %s', async (url) => {
  await expect(guardedFetch(rules)(url)).rejects.toMatchObject({
    code: 'MCP_ADDRESS_REFUSED',
    details: { server: 'it' },
  })
  expect(await (await guardedFetch({ ...rules, trusted: true })(url)).text()).toBe('ok')
})

it('lets a public address pass', async () => {
  expect(await (await guardedFetch(rules)('https://93.184.216.34/')).text()).toBe('ok')
})

it('refuses a redirect, unless the server is trusted', async () => {
  const seen: (string | undefined)[] = []
  const redirecting = async (_url: string | URL, init?: RequestInit) => {
    seen.push(init?.redirect)
    return new Response(null, { status: 307, headers: { location: 'http://127.0.0.1/' } })
  }
  const given = { ...rules, fetch: redirecting }
  await expect(guardedFetch(given)('https://93.184.216.34/')).rejects.toMatchObject({ code: 'MCP_ADDRESS_REFUSED' })
  expect((await guardedFetch({ ...given, trusted: true })('https://93.184.216.34/')).status).toBe(307)
  expect(seen).toEqual(['manual', undefined])
})

it('reads no message beyond the limit, and any number of events within it', async () => {
  const answer = (type: string, ...chunks: string[]) =>
    guardedFetch({
      ...rules,
      trusted: true,
      fetch: async () =>
        new Response(ReadableStream.from(chunks.map((chunk) => new TextEncoder().encode(chunk))), {
          headers: { 'content-type': type },
        }),
    })('https://a.test/')
  const event = `data: ${'x'.repeat(60)}\n\n`
  await expect(answer('application/json', 'x'.repeat(60), 'x'.repeat(60))).rejects.toMatchObject({
    code: 'MCP_CALL_FAILED',
  })
  expect(await (await answer('application/json', '[1,', '2]')).json()).toEqual([1, 2])
  expect(await (await answer('text/event-stream', event, event, event)).text()).toHaveLength(event.length * 3)
  await expect((await answer('text/event-stream', event, 'x'.repeat(101))).text()).rejects.toMatchObject({
    code: 'MCP_CALL_FAILED',
  })
})

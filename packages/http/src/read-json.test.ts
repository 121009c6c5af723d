import { expect, it } from 'vitest'
import { readJson } from './read-json.ts'

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' }
type Body = ConstructorParameters<typeof Response>[0]

function request(body: Body, headers: Record<string, string> = JSON_TYPE): Request {
  return new Request('http://localhost/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
}

it('reads JSON in pieces, also where a character is cut', async () => {
  const bytes = new TextEncoder().encode('{"name":"Åsa"}')
  const pieces = ReadableStream.from([bytes.slice(0, 10), bytes.slice(10)])
  expect(await readJson(request(pieces), 100)).toEqual({ name: 'Åsa' })
})

it.each<[string, Body, Record<string, string>, string]>([
  ['another content type', '{}', { 'content-type': 'text/plain' }, 'CONTENT_TYPE_UNSUPPORTED'],
  ['no content type', new Uint8Array([123, 125]), {}, 'CONTENT_TYPE_UNSUPPORTED'],
  ['a compressed body', '{}', { ...JSON_TYPE, 'content-encoding': 'gzip' }, 'CONTENT_TYPE_UNSUPPORTED'],
  ['half of the JSON', '{"a":', JSON_TYPE, 'VALIDATION_FAILED'],
  ['no body', '', JSON_TYPE, 'VALIDATION_FAILED'],
  ['bytes that are not UTF-8', new Uint8Array([34, 255, 34]), JSON_TYPE, 'VALIDATION_FAILED'],
])('refuses %s', async (_, body, headers, code) => {
  await expect(readJson(request(body, headers), 100)).rejects.toMatchObject({ code })
})

it('takes no more than the limit in, whatever the headers say', async () => {
  let taken = 0
  const endless = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        taken += 10
        controller.enqueue(new Uint8Array(10).fill(32))
      },
    },
    { highWaterMark: 0 },
  )
  await expect(readJson(request(endless), 100)).rejects.toMatchObject({ code: 'BODY_TOO_LARGE' })
  expect(taken).toBe(110)
  const claimed = request('{}', { ...JSON_TYPE, 'content-length': '101' })
  await expect(readJson(claimed, 100)).rejects.toMatchObject({ code: 'BODY_TOO_LARGE' })
})

it('says that a body was read before, and that its client has left', async () => {
  const read = request('{}')
  await read.text()
  await expect(readJson(read, 100)).rejects.toMatchObject({ code: 'BODY_ALREADY_READ' })
  const broken = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) })
  await expect(readJson(request(broken), 100)).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
    details: { issues: [{ path: 'body' }] },
  })
})

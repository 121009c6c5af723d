import { describe, expect, it } from 'vitest'
import { agUiHandlers } from './ag-ui-handlers.ts'
import { get, input, post, served, words } from './http.fixture.ts'

const PAGE = 'https://app.example.com'
const cors = { origins: [PAGE, 'http://localhost:3000'] }
const preflight = (origin: string, path = '/') =>
  new Request(`http://localhost${path}`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type, x-user',
    },
  })
const named = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))

describe('a page of another origin', () => {
  it('is not let in unless its origin is listed', async () => {
    const { handler } = served(() => words(1))
    const response = await handler(get('/threads', { origin: PAGE }))
    expect([response.status, named(response), response.headers.get('vary')]).toEqual([200, {}, null])
    expect((await handler(preflight(PAGE))).status).toBe(401)
  })

  it('is answered before it sends a user, and reads streams and errors', async () => {
    const { handler } = served(() => words(1), { cors })
    const asked = await handler(preflight(PAGE))
    expect([asked.status, named(asked)]).toEqual([
      204,
      {
        'access-control-allow-origin': PAGE,
        'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
        'access-control-allow-headers': 'content-type, x-user',
        'access-control-expose-headers': 'x-request-id, retry-after',
        'access-control-max-age': '600',
      },
    ])
    const run = await handler(post(input(), { origin: PAGE }))
    expect([run.status, run.headers.get('access-control-allow-origin')]).toEqual([200, PAGE])
    expect(run.headers.get('vary')).toBe('accept, origin')
    await run.text()
    const unknown = await handler(new Request('http://localhost/threads', { headers: { origin: PAGE } }))
    expect([unknown.status, unknown.headers.get('access-control-allow-origin')]).toEqual([401, PAGE])
  })

  it.each(['https://app.example.com.evil.test', 'http://app.example.com', 'https://app.example.com:8443', 'null'])(
    'from %s is refused',
    async (origin) => {
      const { handler } = served(() => words(1), { cors })
      const asked = await handler(preflight(origin))
      expect([asked.status, named(asked)]).toEqual([403, {}])
      const response = await handler(get('/threads', { origin }))
      expect([named(response), response.headers.get('vary')]).toEqual([{}, 'origin'])
    },
  )

  it('sends cookies only with credentials', async () => {
    const { handler } = served(() => words(1), { cors: { ...cors, credentials: true } })
    expect(named(await handler(preflight(PAGE)))).toMatchObject({ 'access-control-allow-credentials': 'true' })
  })

  it.each([['*'], [''], ['https://app.example.com/'], ['app.example.com']])('cannot be listed as "%s"', (origin) => {
    expect(() => served(() => words(1), { cors: { origins: [origin] } })).toThrow(/exact/)
  })
})

describe('several agents behind one handler', () => {
  const at = (path: string) => served(() => words(1, path), { path })

  it('have a path each, and the longest that fits counts', async () => {
    const handler = agUiHandlers([at('/a').handler, at('/a/b').handler])
    const send = async (path: string) => {
      const sent = post(input())
      const response = await handler(new Request(`http://localhost${path}`, sent))
      return [response.status, /"delta":"([^"]*)"/.exec(await response.text())?.[1]]
    }
    expect(await send('/a')).toEqual([200, '/a'])
    expect(await send('/a/b')).toEqual([200, '/a/b'])
    expect(await send('/ab')).toEqual([404, undefined])
    await handler.stop()
    expect((await send('/a/b'))[0]).toBe(503)
  })

  it('cannot share one', () => {
    expect(() => agUiHandlers([at('/a').handler, at('/a').handler])).toThrow(/path of its own/)
    expect(() => agUiHandlers([])).toThrow(/list of handlers/)
  })
})

it('a body that was read before is reported as such', async () => {
  const { handler } = served(() => words(1))
  const request = post(input())
  await request.text()
  const response = await handler(request)
  expect([response.status, await response.json()]).toMatchObject([500, { code: 'BODY_ALREADY_READ' }])
})

import { describe, expect, it } from 'vitest'
import { allowOrigin, checkCors, preflight } from './cors.ts'

const APP = 'https://app.example.com'

function request(method: string, headers: Record<string, string>): Request {
  return new Request('http://localhost/', { method, headers })
}

it.each([['*'], ['https://app.example.com/'], ['app.example.com'], ['null'], ['https://*.example.com']])(
  'an origin must be exact: %s',
  (origin) => {
    expect(() => checkCors('server: cors', { origins: [origin] })).toThrow(/server: cors: an origin must be exact/)
  },
)

it('origins are named, and misspelt options are refused', () => {
  expect(() => checkCors('it', { origins: [] })).toThrow(/origins must be a list/)
  expect(() => checkCors('it', { origin: APP } as never)).toThrow(/origins/)
  expect(() => checkCors('it', { origins: [APP], credentials: true })).not.toThrow()
})

describe('a response', () => {
  const shown = (origin: string, credentials = false) => {
    const response = new Response('')
    allowOrigin({ origins: [APP], credentials }, request('GET', { origin }), response, 'x-id')
    return Object.fromEntries(response.headers)
  }

  it('can be read by a page of a listed origin, with cookies only where the app says so', () => {
    const headers = { 'access-control-allow-origin': APP, 'access-control-expose-headers': 'x-id', vary: 'origin' }
    expect(shown(APP)).toMatchObject(headers)
    expect(shown(APP)['access-control-allow-credentials']).toBeUndefined()
    expect(shown(APP, true)).toMatchObject({ ...headers, 'access-control-allow-credentials': 'true' })
  })

  it('cannot be read by any other page, and caches keep the two apart', () => {
    expect(shown('https://evil.example')).toEqual({ 'content-type': 'text/plain;charset=UTF-8', vary: 'origin' })
  })
})

it('a preflight is answered with the methods and the headers that were asked for', () => {
  const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-a' }
  const response = preflight(request('OPTIONS', asked), 'GET, POST')
  expect(response?.status).toBe(204)
  expect(response?.headers.get('access-control-allow-methods')).toBe('GET, POST')
  expect(response?.headers.get('access-control-allow-headers')).toBe('x-a')
  expect(preflight(request('OPTIONS', {}), 'GET')).toBeUndefined()
  expect(preflight(request('POST', asked), 'GET')).toBeUndefined()
})

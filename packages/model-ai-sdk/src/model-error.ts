import { type Clock, type JsonObject, KernelError } from '@troupe/kernel'

const TOO_LONG = /context.?(length|window|limit)|prompt is too long|input token count|too many (input )?tokens/i
const BAD_KEY = /api.?key not valid|api_key_invalid/i
const NO_CREDIT = /insufficient_quota/
const BAD_REQUEST =
  /^AI_(UnsupportedFunctionality|InvalidPrompt|InvalidArgument|NoSuchModel|NoSuchProviderReference|LoadSetting)Error$/
const NETWORK = /^(ECONN|EPIPE|ETIMEDOUT|EAI_AGAIN|UND_ERR_)/
const LONGEST_QUOTE = 300

/** A provider's error, read by its shape, because an app may have several copies of the AI SDK. */
interface Failure {
  readonly name: string | undefined
  readonly status: number | undefined
  readonly text: string
  /** The codes that the vendor gave. */
  readonly codes: string
  readonly retryable: boolean
}

/** The first case that fits decides. */
const CASES: readonly {
  readonly code: string
  fits(failure: Failure): boolean
  readonly what: string
  /** Whether the vendor's message is left out, because it may quote the key. */
  readonly secret?: true
  /** Whether another attempt would fail too. */
  readonly final?: true
}[] = [
  {
    code: 'MODEL_AUTH_FAILED',
    fits: ({ status, text }) =>
      status === 401 || status === 402 || status === 403 || (status === 400 && BAD_KEY.test(text)),
    what: 'the vendor refuses the key or the account',
    secret: true,
    final: true,
  },
  { code: 'MODEL_RATE_LIMITED', fits: ({ status }) => status === 429, what: 'the rate limit is reached' },
  {
    code: 'MODEL_OVERLOADED',
    fits: ({ status }) => status === 503 || status === 529,
    what: 'the vendor is overloaded',
  },
  {
    code: 'MODEL_CONTEXT_EXCEEDED',
    fits: ({ status, text, codes }) => status === 413 || (isClientError(status) && TOO_LONG.test(`${text} ${codes}`)),
    what: 'the request is too long',
    final: true,
  },
  {
    code: 'MODEL_REQUEST_INVALID',
    fits: ({ status, name, retryable }) =>
      (isClientError(status) && !retryable) || (name !== undefined && BAD_REQUEST.test(name)),
    what: 'the request is refused',
    final: true,
  },
  { code: 'MODEL_FAILED', fits: () => true, what: 'the call failed' },
]

/**
 * Makes a KernelError of an error that a provider threw or streamed.
 * Contract: request, headers and body stay in `cause`.
 */
export function modelError(model: string, error: unknown, clock: Clock): KernelError {
  if (KernelError.is(error)) return error
  const failure = failureOf(error)
  const { name, status, text, retryable } = failure
  const { responseHeaders, data } = shapeOf(error)
  const wait = retryable ? retryAfterMs(responseHeaders, data, clock.now()) : undefined
  const details: JsonObject = {
    ...(status !== undefined && { status }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
  const options = { cause: error, details }
  if (name === 'AI_LoadAPIKeyError') return new KernelError('MODEL_AUTH_FAILED', `${model}: ${text}`, options)
  const { code, what, secret, final } = CASES.find(({ fits }) => fits(failure)) as (typeof CASES)[number]
  const got = `got ${status ?? name ?? typeof error}${!secret && text ? `: ${text}` : ''}`
  return new KernelError(code, `${model}: ${what}, ${got}`, { ...options, retryable: !final && retryable })
}

function failureOf(error: unknown): Failure {
  const { name, statusCode, isRetryable, data, code } = shapeOf(error)
  const status = typeof statusCode === 'number' && statusCode >= 400 ? statusCode : undefined
  const codes = `${code} ${shapeOf(shapeOf(data).error).code}`
  const transient = typeof isRetryable === 'boolean' ? isRetryable : isTransient(status, error)
  return {
    name: typeof name === 'string' ? name : undefined,
    status,
    text: textOf(error),
    codes,
    retryable: transient && !NO_CREDIT.test(codes),
  }
}

function shapeOf(error: unknown): Record<string, unknown> {
  return typeof error === 'object' && error !== null ? (error as Record<string, unknown>) : {}
}

function textOf(error: unknown): string {
  const { message, error: inner } = shapeOf(error)
  const text = message ?? shapeOf(inner).message ?? error
  if (typeof text !== 'string') return ''
  return text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text
}

function isClientError(status: number | undefined): boolean {
  return status !== undefined && status < 500
}

function isTransient(status: number | undefined, error: unknown): boolean {
  if (status !== undefined) return status === 408 || status === 409 || status === 429 || status >= 500
  let cause: unknown = error
  for (let depth = 0; depth < 5 && cause; depth++) {
    const { code, name } = shapeOf(cause)
    if (name === 'TimeoutError' || (typeof code === 'string' && NETWORK.test(code))) return true
    cause = shapeOf(cause).cause
  }
  return false
}

/** The wait that a vendor asks for, in milliseconds: from `retry-after-ms`, `retry-after` (seconds or a date), or Google's `RetryInfo`. */
function retryAfterMs(headers: unknown, body: unknown, now: number): number | undefined {
  const { 'retry-after-ms': ms, 'retry-after': after } = lowerCased(headers)
  return whole(number(ms)) ?? whole(number(after, 1000)) ?? whole(date(after, now)) ?? whole(retryInfo(body))
}

function lowerCased(headers: unknown): Record<string, unknown> {
  if (typeof headers !== 'object' || headers === null) return {}
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

function number(text: unknown, scale = 1): number {
  return typeof text === 'string' && text.trim() !== '' ? Number(text) * scale : Number.NaN
}

function date(text: unknown, now: number): number {
  return typeof text === 'string' && /^[a-z]{3}/i.test(text) ? Math.max(0, Date.parse(text) - now) : Number.NaN
}

/** Gemini sends no header: `{ error: { details: [{ '@type': '…/google.rpc.RetryInfo', retryDelay: '34s' }] } }`. */
function retryInfo(body: unknown): number {
  const details = (body as { error?: { details?: unknown } } | undefined)?.error?.details
  for (const detail of Array.isArray(details) ? details : []) {
    const delay: unknown = detail?.retryDelay
    if (typeof delay === 'string' && delay.endsWith('s')) return number(delay.slice(0, -1), 1000)
  }
  return Number.NaN
}

function whole(ms: number): number | undefined {
  return Number.isFinite(ms) && ms >= 0 ? Math.ceil(ms) : undefined
}

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

/**
 * Makes a KernelError of an error that a provider threw or streamed.
 * Contract: request, headers and body stay in `cause`.
 */
export function modelError(model: string, error: unknown, clock: Clock): KernelError {
  if (KernelError.is(error)) return error
  const failure = failureOf(error)
  const { name, status, text, retryable } = failure
  const final = { cause: error, details: detailsOf(failure, error, clock) }
  const options = { ...final, retryable }
  const got = `got ${status ?? name ?? typeof error}`
  const quoted = `${got}${text && `: ${text}`}`
  if (name === 'AI_LoadAPIKeyError') return new KernelError('MODEL_AUTH_FAILED', `${model}: ${text}`, final)
  if (refusesKey(failure)) {
    // The message of a vendor may quote the key.
    return new KernelError('MODEL_AUTH_FAILED', `${model}: the vendor refuses the key or the account, ${got}`, final)
  }
  if (status === 429) {
    return new KernelError('MODEL_RATE_LIMITED', `${model}: the rate limit is reached, ${quoted}`, options)
  }
  if (status === 503 || status === 529) {
    return new KernelError('MODEL_OVERLOADED', `${model}: the vendor is overloaded, ${quoted}`, options)
  }
  if (isTooLong(failure)) {
    return new KernelError('MODEL_CONTEXT_EXCEEDED', `${model}: the request is too long, ${quoted}`, final)
  }
  if (isInvalid(failure)) {
    return new KernelError('MODEL_REQUEST_INVALID', `${model}: the request is refused, ${quoted}`, final)
  }
  return new KernelError('MODEL_FAILED', `${model}: the call failed, ${quoted}`, options)
}

function refusesKey({ status, text }: Failure): boolean {
  return status === 401 || status === 402 || status === 403 || (status === 400 && BAD_KEY.test(text))
}

function isTooLong({ status, text, codes }: Failure): boolean {
  return status === 413 || (isClientError(status) && TOO_LONG.test(`${text} ${codes}`))
}

function isInvalid({ status, name = '', retryable }: Failure): boolean {
  return (isClientError(status) && !retryable) || BAD_REQUEST.test(name)
}

function detailsOf({ status, retryable }: Failure, error: unknown, clock: Clock): JsonObject {
  const { responseHeaders, data } = shapeOf(error)
  const wait = retryable ? retryAfterMs(responseHeaders, data, clock.now()) : undefined
  return { ...(status !== undefined && { status }), ...(wait !== undefined && { retryAfterMs: wait }) }
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

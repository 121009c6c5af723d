import { checkNode } from './check-node.ts'
import { type JsonObject, notJson } from './json.ts'

// Every entry imports this file, so the check always runs first.
checkNode()

/** The kernel's own codes; plugins add theirs as strings, all are listed in `docs/errors.md`. */
export type KernelErrorCode =
  | 'AGENT_FAILED'
  | 'HANDLER_FAILED'
  | 'CALLBACK_FAILED'
  | 'MODEL_FAILED'
  | 'TOOL_FAILED'
  | 'TOOL_UNKNOWN'
  | 'MAX_ITERATIONS'
  | 'ABORTED'
  | 'TIMEOUT'
  | 'INTERRUPTED'
  | 'THREAD_BUSY'
  | 'THREAD_ID_TAKEN'
  | 'LEASE_LOST'
  | 'VERSION_CONFLICT'
  | 'NOT_FOUND'
  | 'CONFIG_INVALID'
  | 'SCHEMA_INVALID'
  | 'VALIDATION_FAILED'
  | 'CONTEXT_KEY_INVALID'
  | 'EVENT_INVALID'
  | 'STREAM_CONSUMED'
  | 'STORE_CLOSED'

/** An error as plain JSON: in events, in tool results, in a durable journal. */
export type ErrorInfo = {
  readonly code: KernelErrorCode | (string & {})
  /** `who: what, got value`. */
  readonly message: string
  /** True where the same call may succeed later; `details.retryAfterMs` says when. */
  readonly retryable?: boolean
  /** For example the handler and hook that failed, or who holds a busy thread. */
  readonly details?: JsonObject
}

/** Options of a KernelError beyond code and message. */
export interface KernelErrorOptions {
  readonly cause?: unknown
  /** @default false */
  readonly retryable?: boolean
  /** @default {} */
  readonly details?: JsonObject
}

const MARK = Symbol.for('troupe.KernelError')

/**
 * The one error class.
 * @example throw new KernelError('NOT_FOUND', `thread: unknown id, got ${id}`)
 */
export class KernelError extends Error implements ErrorInfo {
  readonly code: ErrorInfo['code']
  readonly retryable: boolean
  readonly details: JsonObject

  constructor(code: ErrorInfo['code'], message: string, options: KernelErrorOptions = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined)
    this.code = code
    this.retryable = options.retryable ?? false
    this.details = options.details ?? {}
  }

  /** Contract: works across duplicate installs, so never use `instanceof`. */
  static is(error: unknown, code?: ErrorInfo['code']): error is KernelError {
    return read(error, MARK) === true && (code === undefined || read(error, 'code') === code)
  }

  /** Makes a KernelError of anything thrown, or of an ErrorInfo read back from a journal; `code` is for an error that has none of its own. */
  static from(error: unknown, code: ErrorInfo['code'] = 'AGENT_FAILED'): KernelError {
    if (KernelError.is(error)) return error
    if (isErrorInfo(error)) return readBack(error)
    const message = read(error, 'message') ?? error
    return new KernelError(
      ownCode(error) ?? code,
      typeof message === 'string' ? message : `thrown value, ${got(error)}`,
      { cause: error, ...ownDetails(error) },
    )
  }

  /**
   * Adds where an error came from and keeps what it is.
   * Contract: an error with a code of its own keeps code, details and `retryable`; any other gets `code`; `details` are added.
   * @example throw KernelError.within('handler cache: ', error, 'HANDLER_FAILED', { handler: 'cache' })
   */
  static within(prefix: string, error: unknown, code: ErrorInfo['code'], details: JsonObject = {}): KernelError {
    const inner = KernelError.from(error, code)
    const kept = STEERING.has(inner.code) ? code : inner.code
    return new KernelError(kept, `${prefix}${inner.message}`, {
      cause: error,
      retryable: inner.retryable,
      details: { ...inner.details, ...details },
    })
  }

  toJSON(): ErrorInfo {
    const { code, message, retryable, details } = this
    return {
      code,
      message,
      ...(retryable && { retryable }),
      ...(Object.keys(details).length > 0 && notJson(details) === undefined && { details }),
    }
  }
}
// A bundler may rename the class, and a log shows the name of either.
Object.defineProperty(KernelError, 'name', { value: 'KernelError' })
Object.defineProperty(KernelError.prototype, 'name', { value: 'KernelError' })
Object.defineProperty(KernelError.prototype, MARK, { value: true })

const READ_BACK = new WeakMap<KernelError, ErrorInfo>()

function readBack(info: ErrorInfo): KernelError {
  const error = new KernelError(info.code, info.message, info)
  READ_BACK.set(error, info)
  return error
}

/** The ErrorInfo that `KernelError.from` made an error of, so that a run recognises its own error in it. */
export function infoBehind(error: KernelError): ErrorInfo | undefined {
  return READ_BACK.get(error)
}

/**
 * Names a value in an error message, shortened.
 * @example got('wether') // 'got "wether"'
 */
export function got(value: unknown): string {
  if (typeof value === 'string') return `got ${JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)}`
  if (Array.isArray(value)) return 'got an array'
  if (isObject(value)) return 'got an object'
  return typeof value === 'function' ? 'got a function' : `got ${String(value)}`
}

export function isObject(value: unknown): value is Record<PropertyKey, unknown> {
  return typeof value === 'object' && value !== null
}

/** Reads a property of any value; undefined if reading throws. */
export function read(value: unknown, key: PropertyKey): unknown {
  try {
    return isObject(value) ? value[key] : undefined
  } catch {
    return undefined
  }
}

/** Codes that steer a run: only a KernelError may have them. */
const STEERING: ReadonlySet<unknown> = new Set(['ABORTED', 'INTERRUPTED'])

/** The code that an application gave its error: `PAYMENT_DECLINED`. That of a system call (`ECONNREFUSED`) or of Node is a cause. */
function ownCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || read(error, 'syscall') !== undefined) return undefined
  const code = read(error, 'code')
  if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]+$/.test(code)) return undefined
  return STEERING.has(code) || /^(UND_)?ERR_/.test(code) ? undefined : code
}

function ownDetails(error: unknown): Pick<KernelErrorOptions, 'details' | 'retryable'> {
  if (ownCode(error) === undefined) return {}
  const details = read(error, 'details')
  const usable = isObject(details) && !Array.isArray(details) && notJson(details) === undefined
  return {
    ...(read(error, 'retryable') === true && { retryable: true }),
    ...(usable && { details: details as JsonObject }),
  }
}

function isErrorInfo(error: unknown): error is ErrorInfo {
  return (
    !(error instanceof Error) && typeof read(error, 'code') === 'string' && typeof read(error, 'message') === 'string'
  )
}

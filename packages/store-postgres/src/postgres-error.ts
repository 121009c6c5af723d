import { KernelError } from '@troupe/kernel'

/** The PostgreSQL code of an error; undefined if it did not come from the server. */
function stateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : undefined
}

/** Whether the connection is unusable after this error: only an error of a single statement leaves it intact. */
export function endsConnection(error: unknown): boolean {
  const state = stateOf(error)
  return state === undefined || /^(57P|08|25P0[34])/.test(state)
}

const SERIALIZATION = '40001'
const DEADLOCK = '40P01'
const UNIQUE = '23505'
const LOCKED = '55P03'

/** Whether a transaction conflicted with another; retried, it sees what the other has written. */
export function lostRace(error: unknown): boolean {
  return [SERIALIZATION, DEADLOCK, UNIQUE].includes(stateOf(error) ?? '')
}

/** The error of a connection that was lost during a commit. */
export function outcomeUnknown(cause: unknown): KernelError {
  return new KernelError(
    'STORE_UNAVAILABLE',
    `postgresStore: the connection was lost during the commit, so it is unknown whether it was written; try again, ${quoted(cause)}`,
    { cause, retryable: true, details: { outcome: 'unknown' } },
  )
}

/** Converts an error of the server or the connection to a coded error that says what to do. */
export function postgresError(cause: unknown): KernelError {
  const state = stateOf(cause)
  if (isBug(cause)) {
    return new KernelError('STORE_FAILED', `postgresStore: a bug in the store or the driver, ${quoted(cause)}`, {
      cause,
    })
  }
  if (state === undefined) {
    return new KernelError(
      'STORE_UNAVAILABLE',
      `postgresStore: the server cannot be reached, or the connection was lost, and this write did not happen; try again, ${quoted(cause)}`,
      { cause, retryable: true },
    )
  }
  switch (state) {
    case '28000':
    case '28P01':
    case '3D000':
      return new KernelError(
        'STORE_UNAVAILABLE',
        `postgresStore: the server refuses the user or does not have the database; check the url, ${quoted(cause)}`,
        { cause },
      )
    case '25006':
      return new KernelError(
        'STORE_READ_ONLY',
        `postgresStore: the server is read-only; connect to the primary, ${quoted(cause)}`,
        { cause },
      )
    case '53100':
      return new KernelError(
        'STORE_FULL',
        `postgresStore: the server's disk is full and this write did not happen; free some space, ${quoted(cause)}`,
        { cause, retryable: true },
      )
    case SERIALIZATION:
    case DEADLOCK:
    case UNIQUE:
      return new KernelError(
        'STORE_BUSY',
        `postgresStore: the transaction kept conflicting with others; try again, ${quoted(cause)}`,
        { cause, retryable: true },
      )
  }
  if (state === LOCKED) {
    return new KernelError(
      'STORE_BUSY',
      `postgresStore: another transaction kept the thread locked and this write did not happen; try again, or raise lockTimeoutMs, ${quoted(cause)}`,
      { cause, retryable: true },
    )
  }
  // The transaction took too long, or its process was frozen. Shutting down, lost, out of connections or memory, cancelled by an operator or a limit.
  if (/^(57|08|53|25P0[34])/.test(state)) {
    return new KernelError(
      'STORE_UNAVAILABLE',
      `postgresStore: the server is not available now and this write did not happen; try again, ${quoted(cause)}`,
      { cause, retryable: true },
    )
  }
  return new KernelError('STORE_FAILED', `postgresStore: the database failed, ${quoted(cause)}`, { cause })
}

/** Whether an error is a bug: it does not come from the server, and a retry does not help. */
function isBug(cause: unknown): boolean {
  return cause instanceof TypeError || cause instanceof RangeError || cause instanceof SyntaxError
}

function quoted(cause: unknown): string {
  const state = stateOf(cause)
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return `got ${JSON.stringify(text)}${state ? ` (${state})` : ''}`
}

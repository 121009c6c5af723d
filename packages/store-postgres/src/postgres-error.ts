import { KernelError } from '@troupe/kernel'

/** PostgreSQL's own code of an error; undefined if it did not come from the server. */
function stateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && 'severity' in (error as object) ? code : undefined
}

/** Whether a connection is of no use after this error: only what the server said of one statement leaves it intact. */
export function endsConnection(error: unknown): boolean {
  const state = stateOf(error)
  return state === undefined || state.startsWith('57P') || state.startsWith('08')
}

const SERIALIZATION = '40001'
const DEADLOCK = '40P01'
const UNIQUE = '23505'

/** Two transactions got in each other's way; played again, this one sees what the other has done. */
export function lostRace(error: unknown): boolean {
  return [SERIALIZATION, DEADLOCK, UNIQUE].includes(stateOf(error) ?? '')
}

/** The connection was lost while it committed. */
export function outcomeUnknown(cause: unknown): KernelError {
  return new KernelError(
    'STORE_UNAVAILABLE',
    `postgresStore: the connection was lost while committing, so that it may be written or not, ${said(cause)}`,
    { cause, retryable: true, details: { outcome: 'unknown' } },
  )
}

/** What the server or the connection said, with what to do about it. */
export function postgresError(cause: unknown): KernelError {
  const state = stateOf(cause)
  if (isFault(cause)) {
    return new KernelError('STORE_FAILED', `postgresStore: a fault of ours or of the driver, ${said(cause)}`, { cause })
  }
  if (state === undefined) {
    return new KernelError(
      'STORE_UNAVAILABLE',
      `postgresStore: the server cannot be reached, or the connection was lost; nothing was written, ${said(cause)}`,
      { cause, retryable: true },
    )
  }
  switch (state) {
    case '28000':
    case '28P01':
    case '3D000':
      return new KernelError(
        'STORE_UNAVAILABLE',
        `postgresStore: the server refuses the user or has no such database; check the url, ${said(cause)}`,
        { cause },
      )
    case '25006':
      return new KernelError(
        'STORE_READ_ONLY',
        `postgresStore: the server only answers, it does not write; connect to the primary, ${said(cause)}`,
        { cause },
      )
    case '53100':
      return new KernelError(
        'STORE_FULL',
        `postgresStore: the server's disk is full; nothing was written, make room, ${said(cause)}`,
        { cause, retryable: true },
      )
    case SERIALIZATION:
    case DEADLOCK:
    case UNIQUE:
    case '55P03':
      return new KernelError(
        'STORE_BUSY',
        `postgresStore: other transactions kept getting in the way; try again, ${said(cause)}`,
        { cause, retryable: true },
      )
  }
  // Shutting down, lost, out of connections or memory, cancelled by an operator or a limit.
  if (/^(57|08|53)/.test(state)) {
    return new KernelError(
      'STORE_UNAVAILABLE',
      `postgresStore: the server does not serve now; nothing was written, ${said(cause)}`,
      { cause, retryable: true },
    )
  }
  return new KernelError('STORE_FAILED', `postgresStore: the database failed, ${said(cause)}`, { cause })
}

/** No server makes these, and trying again does not help. */
function isFault(cause: unknown): boolean {
  return cause instanceof TypeError || cause instanceof RangeError || cause instanceof SyntaxError
}

function said(cause: unknown): string {
  const state = stateOf(cause)
  const text = cause instanceof Error ? cause.message || cause.name : String(cause)
  return `got ${JSON.stringify(text)}${state ? ` (${state})` : ''}`
}

import type * as restate from '@restatedev/restate-sdk'

/** What the SDK says of a worker whose port is not open to strangers. */
const EXPECTED = 'Accepting requests without validating request signatures'

/** Passes on what somebody may have to look at: attempts that failed, not each one that began and ended. */
export const quietLogger: restate.LoggerTransport = ({ level, context }, message, ..._more) => {
  if ((level !== 'warn' && level !== 'error') || String(message).startsWith(EXPECTED)) return
  const _target = context?.invocationTarget
}

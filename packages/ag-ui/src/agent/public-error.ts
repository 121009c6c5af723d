import { KernelError } from '@troupe/kernel'
import { type PublicError, publicError } from '../translate/run-error.ts'

/** Where something went wrong: in what the client sent, before the run, or in the run. */
export type ErrorPlace = 'input' | 'outside' | 'run'

const OURS: ReadonlyMap<string, string> = new Map([
  ['ENCODING_ERROR', 'What the agent said could not be put into words of the protocol.'],
  ['EXECUTION_LIMIT', 'As many runs as allowed are under way. Try again later.'],
  ['EXECUTION_TIMEOUT', 'The run took longer than it may.'],
  ['INTERRUPT_UNANSWERED', 'Every open question needs an answer at once.'],
  ['SESSION_LIMIT', 'This user has as many conversations as allowed.'],
  ['TOOL_TIMEOUT', 'A tool took longer than it may.'],
])

/**
 * What a client is told of an error.
 * Contract: the text of an error goes out only where it speaks of what the client itself has sent; what is kept back is the `cause`.
 */
export function toldError(error: KernelError, place: ErrorPlace): PublicError | KernelError {
  const { code, message } = error
  if (code === 'VALIDATION_FAILED' && place === 'input') return { code, message }
  if (code === 'VALIDATION_FAILED' && place === 'outside') {
    return { code, message: 'What was sent does not fit this conversation.' }
  }
  const ours = OURS.get(code)
  if (ours !== undefined) return { code, message: ours }
  const told = publicError(error)
  if (told.code !== 'AGENT_ERROR') return told
  return place === 'run'
    ? new KernelError('BACKGROUND_EXECUTION_ERROR', 'The run failed.', { cause: error })
    : new KernelError('AGENT_ERROR', 'The agent failed.', { cause: error })
}

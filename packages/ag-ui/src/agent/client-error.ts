import { KernelError } from '@troupe/kernel'
import { type PublicError, publicError } from '../translate/run-error.ts'

/** The phase in which an error occurred: while the input was read, while the run was set up, or in the run. */
export type RunPhase = 'input' | 'setup' | 'run'

const MESSAGES: ReadonlyMap<string, string> = new Map([
  ['ENCODING_ERROR', 'The output of the agent could not be encoded.'],
  ['EXECUTION_LIMIT', 'Too many runs at once. Try again later.'],
  ['EXECUTION_TIMEOUT', 'The run exceeded its time limit.'],
  ['INTERRUPT_UNANSWERED', 'Answer all open questions in one request.'],
  ['SESSION_LIMIT', 'This user has too many conversations.'],
  ['USER_LIMIT', 'You have too many runs at once. Try again later.'],
  ['TOOL_TIMEOUT', 'A tool exceeded its time limit.'],
])

/**
 * The error that a client gets.
 * Contract: the text of an error goes out only if it is about the client's own input; an error whose text is withheld becomes the `cause` of a KernelError.
 */
export function clientError(error: KernelError, phase: RunPhase): PublicError | KernelError {
  const { code, message } = error
  if (code === 'VALIDATION_FAILED' && phase === 'input') return { code, message }
  if (code === 'VALIDATION_FAILED' && phase === 'setup') {
    return { code, message: 'The request does not fit this conversation.' }
  }
  const fixed = MESSAGES.get(code)
  if (fixed !== undefined) return { code, message: fixed }
  const known = publicError(error)
  if (known.code.startsWith('STORE_')) return new KernelError(code, known.message, { cause: error })
  if (known.code !== 'AGENT_ERROR') return known
  return phase === 'run'
    ? new KernelError('BACKGROUND_EXECUTION_ERROR', 'The run failed.', { cause: error })
    : new KernelError('AGENT_ERROR', 'The agent failed.', { cause: error })
}

import { objectIn } from '../request/object-in.ts'

/**
 * Parses the arguments of a call. Contract: incomplete ones are empty.
 * @example argsOf({ args: '{"to":"Ada"}' }) // { to: 'Ada' }
 */
export function argsOf({ args }: { readonly args: string }): Record<string, unknown> {
  return objectIn(args || '{}')
}

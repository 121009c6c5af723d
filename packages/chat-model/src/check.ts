import { KernelError } from '@troupe/kernel'

/** Contract: throws `CONFIG_INVALID` with what was expected unless `ok`. */
export function check(ok: boolean, who: string, expected: string, value: unknown): void {
  if (ok) return
  const got = typeof value === 'object' && value !== null ? 'an object' : (JSON.stringify(value) ?? String(value))
  throw new KernelError('CONFIG_INVALID', `${who}: ${expected}, got ${got}`)
}

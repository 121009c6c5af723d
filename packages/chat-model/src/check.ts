import { got, KernelError } from '@troupe/kernel'

/** Contract: throws `CONFIG_INVALID` with what was expected unless `ok`. */
export function check(ok: boolean, who: string, expected: string, value: unknown): void {
  if (!ok) throw new KernelError('CONFIG_INVALID', `${who}: ${expected}, ${got(value)}`)
}

import { got, KernelError } from '@troupe/kernel'

/** Contract: throws `CONFIG_INVALID` with `who: expected, got value` unless the option is fine. */
export function checkOption(ok: boolean, who: string, expected: string, value: unknown): void {
  if (!ok) throw new KernelError('CONFIG_INVALID', `${who}: ${expected}, ${got(value)}`)
}

/** Whether a value is a whole number from `least` on. */
export function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least
}

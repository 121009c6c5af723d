/** Whether a value is a whole number from `least` on. */
export function isWhole(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= least
}

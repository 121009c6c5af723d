import { useRef } from 'react'

/** The same object again as long as its fields are the same, so that an object that is written in a component changes nothing. */
export function useStable<T extends object>(value: T): T {
  const before = useRef(value)
  if (!isSame(before.current, value)) before.current = value
  return before.current
}

function isSame(a: object, b: object): boolean {
  const [before, after] = [Object.entries(a), Object.entries(b) as [string, unknown][]]
  return before.length === after.length && after.every(([key, value]) => (a as Record<string, unknown>)[key] === value)
}

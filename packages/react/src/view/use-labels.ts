import { useMemo } from 'react'
import { ENGLISH, type Labels } from './labels.ts'
import { useStable } from './use-stable.ts'

const NONE: Partial<Labels> = {}

/** The texts of an app, and the English ones for the rest. */
export function useLabels(given: Partial<Labels> = NONE): Labels {
  const own = useStable(given)
  return useMemo(() => ({ ...ENGLISH, ...own, notes: { ...ENGLISH.notes, ...own.notes } }), [own])
}

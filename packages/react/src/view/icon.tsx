import type { ReactNode } from 'react'

const PATHS = {
  plus: 'M10 4v12M4 10h12',
  send: 'M10 16V4M5 9l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  close: 'M5 5l10 10M15 5L5 15',
  edit: 'M4 16l.8-3.400L13 4.400l2.600 2.600-8.200 8.200zM11.500 6l2.600 2.600',
  again: 'M15.500 7A6.500 6.500 0 1 0 16.500 11M16 3v4h-4',
  attach: 'M14.500 9.500l-5 5a3 3 0 0 1-4.300-4.300l6-6a2 2 0 0 1 2.900 2.900l-6 6a1 1 0 0 1-1.500-1.500l5-5',
} as const

/** An icon. Contract: decoration only; the button around it has the label. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }): ReactNode {
  return (
    <svg className="troupe-icon" data-icon={name} viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

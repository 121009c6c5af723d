const PATHS = {
  plus: 'M10 4v12M4 10h12',
  menu: 'M3 6h14M3 10h14M3 14h9',
  panel: 'M3 4h14v12H3zM12.500 4v12',
  send: 'M10 16V4M5 9l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  close: 'M5 5l10 10M15 5L5 15',
  sun: 'M10 6.500a3.500 3.500 0 1 0 0 7a3.500 3.500 0 1 0 0-7M10 2v1.500M10 16.500V18M2 10h1.500M16.500 10H18M4.300 4.300l1.100 1.100M14.600 14.600l1.100 1.100M4.300 15.700l1.100-1.100M14.600 5.400l1.100-1.100',
  moon: 'M16.500 12A7 7 0 0 1 8 3.500a7 7 0 1 0 8.500 8.500z',
  check: 'M4.500 10.500l3.500 3.500 7.500-8',
} as const

/** An icon. Contract: decoration only; the button around it has the label. */
export function Icon({ name }: { readonly name: keyof typeof PATHS }) {
  return (
    <svg className="icon" data-icon={name} viewBox="0 0 20 20" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  )
}

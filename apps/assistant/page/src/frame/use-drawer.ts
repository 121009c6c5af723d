import { useEffect, useState } from 'react'

/** The drawer over the chat on a narrow screen. */
export type Drawer = 'threads' | 'panel' | undefined

const FIRST = { threads: '.threads button', panel: '.panel [aria-selected="true"]' }

/** The open drawer. Contract: it takes the focus and gives it back; it closes when the screen becomes wide. */
export function useDrawer(): readonly [drawer: Drawer, open: (drawer: Drawer) => void] {
  const [drawer, setDrawer] = useState<Drawer>()
  useEffect(() => {
    if (!drawer) return
    const before = document.activeElement
    document.querySelector<HTMLElement>(FIRST[drawer])?.focus()
    const wide = matchMedia(drawer === 'panel' ? '(min-width: 1181px)' : '(min-width: 821px)')
    const close = () => setDrawer(undefined)
    wide.addEventListener('change', close)
    return () => {
      wide.removeEventListener('change', close)
      if (before instanceof HTMLElement) before.focus()
    }
  }, [drawer])
  return [drawer, setDrawer]
}

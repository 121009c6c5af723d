import { useEffect, useState } from 'react'

/** What lies over the chat on a narrow screen. */
export type Drawer = 'threads' | 'panel' | undefined

const FIRST = { threads: '.threads button', panel: '.panel [aria-selected="true"]' }

/** The drawer that is open. Contract: it takes the focus and gives it back; on a screen that has become wide there is none. */
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

/** How the page looks. */
export type Theme = 'light' | 'dark'

/** Read by `first-paint.js` on the next visit. */
const KEY = 'troupe-theme'
const listeners = new Set<() => void>()

/** The theme as it is: what was chosen, or what the system wants. */
export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme
  if (chosen === 'light' || chosen === 'dark') return chosen
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
}

export function setTheme(next: Theme): void {
  document.documentElement.dataset.theme = next
  localStorage.setItem(KEY, next)
  for (const listener of listeners) listener()
}

/** Tells of each change: by a person, an agent, or the system. */
export function onTheme(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  listeners.add(listener)
  system.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    system.removeEventListener('change', listener)
  }
}

/** The colour theme of the page. */
export type Theme = 'light' | 'dark'

/** The storage key, which `first-paint.js` reads on the next visit. */
const KEY = 'troupe-theme'
const listeners = new Set<() => void>()

/** The current theme: the chosen one, or that of the system. */
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

/** Calls the listener after each change, by the user, an agent or the system. */
export function onTheme(listener: () => void): () => void {
  const system = matchMedia('(prefers-color-scheme: dark)')
  listeners.add(listener)
  system.addEventListener('change', listener)
  return () => {
    listeners.delete(listener)
    system.removeEventListener('change', listener)
  }
}

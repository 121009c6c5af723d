import type { About } from '../conversation/server.ts'
import { Icon } from './icons.tsx'
import { ThemeButton } from './theme-button.tsx'
import type { Drawer } from './use-drawer.ts'

interface TopBarProps {
  readonly about: About | undefined
  /** Whether something covers it. */
  readonly isInert: boolean
  readonly isPanelShown: boolean
  readonly onDrawer: (drawer: Drawer) => void
  readonly onNew: () => void
  readonly onPanel: () => void
}

/** The name of the app, its model, and the buttons for the page. */
export function TopBar({ about, isInert, isPanelShown, onDrawer, onNew, onPanel }: TopBarProps) {
  return (
    <header className="top-bar" inert={isInert}>
      <button
        type="button"
        className="quiet narrow-only"
        aria-label="Conversations"
        onClick={() => onDrawer('threads')}
      >
        <Icon name="menu" />
      </button>
      <h1 className="wordmark">Troupe</h1>
      {about && (
        <p className="model" title={`${about.model}; conversations are saved in ${about.store}`}>
          {about.demo ? 'demo model' : about.model}
        </p>
      )}
      <div className="switches">
        <button type="button" className="quiet narrow-only" aria-label="New conversation" onClick={onNew}>
          <Icon name="plus" />
        </button>
        <ThemeButton />
        <button
          type="button"
          className="quiet wide-only"
          aria-label={isPanelShown ? 'Hide the panel' : 'Show the panel'}
          onClick={onPanel}
        >
          <Icon name="panel" />
        </button>
        <button
          type="button"
          className="quiet narrow-only"
          aria-label="Open the panel"
          onClick={() => onDrawer('panel')}
        >
          <Icon name="panel" />
        </button>
      </div>
    </header>
  )
}

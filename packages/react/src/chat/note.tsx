import type { ReactNode } from 'react'
import type { NoteProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** A note about a run. */
export function Note({ item: { code, text, tone } }: NoteProps): ReactNode {
  const { notes } = useConversation().labels
  return (
    <p className="troupe-note" data-tone={tone} role={tone === 'bad' ? 'alert' : undefined}>
      {notes[code] ?? text ?? notes.failed}
    </p>
  )
}

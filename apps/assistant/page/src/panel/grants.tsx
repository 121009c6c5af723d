import type { Thread } from '@troupe/react'
import type { Grant } from '../conversation/server.ts'
import { useGrants } from './use-grants.ts'

/** What agents may do without a question, and a way to take it back. */
export function Grants({ thread }: { readonly thread: Thread }) {
  const { list, failed, revoke } = useGrants(`${thread.threadId} ${thread.status}`)
  return (
    <section className="grants">
      <h2>Always allowed</h2>
      <p className="hint">These calls run without a question until you revoke the permission.</p>
      {failed && <p role="alert">This did not work. Try again.</p>}
      {list.length === 0 && <p className="empty">Nothing yet. A question before a call offers it.</p>}
      <ul className="things" aria-label="Always allowed">
        {list.map((grant) => (
          <li key={grant.id}>
            <span className="grant-what">
              <code>{grant.tool}</code> {placeOf(grant, thread.threadId)}
            </span>
            <button
              type="button"
              className="plain"
              aria-label={`Revoke ${grant.tool} ${placeOf(grant, thread.threadId)}`}
              onClick={() => {
                revoke(grant.id)
                document.getElementById('panel-view')?.focus({ preventScroll: true })
              }}
            >
              Revoke
            </button>
          </li>
        ))}
      </ul>
    </section>
  )
}

function placeOf({ agent, threadId }: Grant, current: string): string {
  const where = threadId === undefined ? 'in all chats' : threadId === current ? 'in this chat' : 'in another chat'
  return agent === '' ? where : `by ${agent}, ${where}`
}

import type { Thread } from '@troupe/react'
import { type FormEvent, useRef, useState } from 'react'
import { type Edit, edited, type Shared } from '../conversation/packing.ts'
import { Icon } from '../frame/icons.tsx'

/** The list that the page and the agents share; both can change it, even during a run. */
export function PackingList({ thread }: { readonly thread: Thread }) {
  const [text, setText] = useState('')
  const field = useRef<HTMLInputElement>(null)
  const { packing = [], postcards = [] } = thread.state as Shared
  // Made again on the list that a run leaves.
  const edit = (change: Edit) => thread.setState((state) => edited(state as Shared, change))
  const add = (event: FormEvent) => {
    event.preventDefault()
    if (text.trim() === '') return
    const thing = { id: crypto.randomUUID(), text: text.trim(), packed: false, by: 'you' }
    edit({ type: 'add', thing })
    setText('')
  }
  return (
    <section className="packing">
      <h2>Packing list</h2>
      <p className="hint">Shared state: the agent adds to it and sees your changes.</p>
      {packing.length === 0 && <p className="empty">Nothing on it yet. Add something, or ask the agent to pack.</p>}
      <ul className="things" aria-label="Packing list">
        {packing.map(({ id, text: name, packed, by }) => (
          <li key={id}>
            <label>
              <input
                type="checkbox"
                checked={packed}
                onChange={({ target }) => edit({ type: 'pack', id, packed: target.checked })}
              />
              <span className={packed ? 'packed' : undefined}>{name}</span>
            </label>
            <span className="by">{by === 'agent' ? 'agent' : 'you'}</span>
            <button
              type="button"
              className="quiet"
              aria-label={`Remove ${name}`}
              onClick={() => {
                edit({ type: 'remove', id })
                field.current?.focus({ preventScroll: true })
              }}
            >
              <Icon name="close" />
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={add} className="packing-add">
        <input
          ref={field}
          value={text}
          aria-label="Add to the list"
          placeholder="Add to the list"
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="plain" disabled={text.trim() === ''}>
          Add
        </button>
      </form>
      {postcards.length > 0 && (
        <>
          <h2>Postcards sent</h2>
          <ul className="sent">
            {postcards.map(({ to, place, text: words }, i) => (
              <li key={i}>
                <strong>{to}</strong>, from {place}
                <p>{words}</p>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

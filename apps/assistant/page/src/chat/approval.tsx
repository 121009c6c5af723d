import type { Interrupt } from '@ag-ui/client'
import { useEffect, useRef, useState } from 'react'
import type { Always, Conversation } from '../conversation/conversation.ts'
import { argsOf, type CallItem } from '../conversation/items.ts'
import { ArgumentFields } from './argument-fields.tsx'
import { focusComposer } from './composer.tsx'

interface ApprovalProps {
  readonly question: Interrupt
  readonly call: CallItem
  readonly conversation: Conversation
}

/** Asks before a call runs: allow it, now or always, edit it or refuse it. */
export function Approval({ question, call, conversation }: ApprovalProps) {
  const original = argsOf(call.args)
  const [args, setArgs] = useState(original)
  const [isEditing, edit] = useState(false)
  const isChanged = JSON.stringify(args) !== JSON.stringify(original)
  const form = useRef<HTMLFormElement>(null)

  useEffect(() => {
    if (isEditing) form.current?.querySelector('textarea')?.focus()
  }, [isEditing])

  const answer = (approved: boolean, always?: Always) => {
    void conversation.answer(question.id, {
      approved,
      ...(approved && isChanged && { editedArgs: args }),
      ...(always && { always }),
    })
    focusComposer()
  }
  return (
    <form
      ref={form}
      className="approval"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault()
        answer(true)
      }}
    >
      <h3>
        May {call.agent} call <code>{call.name}</code>?
      </h3>
      <ArgumentFields args={args} isEditing={isEditing} onChange={setArgs} />
      <div className="approval-answers">
        <button type="submit" className="primary">
          {isChanged ? 'Allow with changes' : 'Allow'}
        </button>
        {!isEditing && (
          <button type="button" className="plain" onClick={() => edit(true)}>
            Edit
          </button>
        )}
        <button type="button" className="plain" onClick={() => answer(false)}>
          Refuse
        </button>
        {offersAlways(question) && (
          <>
            <button type="button" className="plain" onClick={() => answer(true, 'thread')}>
              Always in this chat
            </button>
            <button type="button" className="plain" onClick={() => answer(true, 'tool')}>
              Always for this tool
            </button>
          </>
        )}
        <span className="approval-by">{call.agent} waits</span>
      </div>
    </form>
  )
}

/** Whether an answer may hold for later calls too, which only some questions allow. */
function offersAlways({ responseSchema }: Interrupt): boolean {
  const properties = (responseSchema as { readonly properties?: object } | undefined)?.properties
  return properties !== undefined && Object.hasOwn(properties, 'always')
}

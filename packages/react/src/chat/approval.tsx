import { type ReactNode, useEffect, useRef, useState } from 'react'
import { argsOf } from '../thread/args-of.ts'
import { agentOf, isExpired } from './agent-of.ts'
import { ArgumentFields } from './argument-fields.tsx'
import type { QuestionProps } from './components.ts'
import { useConversation } from './conversation-context.ts'

/** Asks before a call runs: allow it, now or always, edit it or refuse it. Contract: offers only what the question takes as an answer. */
export function Approval({ question, item }: QuestionProps): ReactNode {
  const { labels, actions, focusComposer } = useConversation()
  const original = argsIn({ question, item })
  const [args, setArgs] = useState(original)
  const [isEditing, edit] = useState(false)
  const isChanged = JSON.stringify(args) !== JSON.stringify(original)
  const form = useRef<HTMLFormElement>(null)
  const agent = agentOf({ question, item })
  const tool = toolOf({ question, item })

  useEffect(() => {
    if (isEditing) form.current?.querySelector('textarea')?.focus()
  }, [isEditing])

  const answer = (approved: boolean, always?: 'thread' | 'tool') => {
    const payload = { approved, ...(approved && isChanged && { editedArgs: args }), ...(always && { always }) }
    // One that has expired can only be closed, which refuses it.
    void (isExpired(question) ? actions.dismiss(question.id) : actions.answer(question.id, payload))
    focusComposer()
  }
  return (
    <form
      ref={form}
      className="troupe-question"
      aria-label={labels.question}
      onSubmit={(event) => {
        event.preventDefault()
        answer(true)
      }}
    >
      <h3>
        {tool === undefined
          ? (question.message ?? labels.mayGoOn)
          : labels.mayCall(agent, <code key="tool">{tool}</code>)}
      </h3>
      <ArgumentFields args={args} isEditing={isEditing} onChange={setArgs} />
      <div className="troupe-answers">
        <button type="submit" className="troupe-primary">
          {isChanged ? labels.allowWithChanges : labels.allow}
        </button>
        {!isEditing && takes(question, 'editedArgs') && Object.keys(original).length > 0 && (
          <button type="button" className="troupe-plain" onClick={() => edit(true)}>
            {labels.edit}
          </button>
        )}
        <button type="button" className="troupe-plain" onClick={() => answer(false)}>
          {labels.refuse}
        </button>
        {takes(question, 'always') && (
          <>
            <button type="button" className="troupe-plain" onClick={() => answer(true, 'thread')}>
              {labels.alwaysInThread}
            </button>
            <button type="button" className="troupe-plain" onClick={() => answer(true, 'tool')}>
              {labels.alwaysForTool}
            </button>
          </>
        )}
        <span className="troupe-asks">{labels.waits(agent)}</span>
      </div>
    </form>
  )
}

function toolOf({ question, item }: QuestionProps): string | undefined {
  const { tool } = (question.metadata ?? {}) as { readonly tool?: unknown }
  return item?.name ?? (typeof tool === 'string' ? tool : undefined)
}

/** The arguments that are asked about, which a handler may have changed since the model wrote them. */
function argsIn({ question, item }: QuestionProps): Record<string, unknown> {
  const { arguments: asked } = (question.metadata ?? {}) as { readonly arguments?: unknown }
  return argsOf({ args: typeof asked === 'string' ? asked : (item?.args ?? '') })
}

/** Whether an answer may have this field. */
function takes({ responseSchema }: QuestionProps['question'], field: string): boolean {
  const { properties } = (responseSchema ?? {}) as { readonly properties?: object }
  return properties !== undefined && Object.hasOwn(properties, field)
}

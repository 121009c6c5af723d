import { type ReactNode, useId, useState } from 'react'
import { useConversation } from './conversation-context.ts'

interface ArgumentFieldsProps {
  readonly args: Record<string, unknown>
  readonly isEditing: boolean
  readonly onChange: (args: Record<string, unknown>) => void
}

/** The arguments of a call, to read or to edit one by one. */
export function ArgumentFields({ args, isEditing, onChange }: ArgumentFieldsProps): ReactNode {
  const form = useId()
  if (Object.keys(args).length === 0) return null
  return (
    <dl className="troupe-arguments">
      {Object.entries(args).map(([name, value]) => (
        <div key={name}>
          <dt>{isEditing ? <label htmlFor={`${form}-${name}`}>{name}</label> : name}</dt>
          <dd>
            {isEditing ? (
              <Field id={`${form}-${name}`} value={value} onChange={(next) => onChange({ ...args, [name]: next })} />
            ) : (
              textOf(value)
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}

interface FieldProps {
  readonly id: string
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

/** A field for one argument. Contract: a text stays a text; other values are JSON, and invalid JSON is not sent. */
function Field({ id, value, onChange }: FieldProps): ReactNode {
  const { labels } = useConversation()
  const [text, setText] = useState(() => textOf(value))
  const [isText] = useState(typeof value === 'string')
  const [isWrong, setWrong] = useState(false)
  const change = (next: string) => {
    setText(next)
    if (isText) return onChange(next)
    try {
      onChange(JSON.parse(next))
      setWrong(false)
    } catch {
      setWrong(true)
    }
  }
  return (
    <textarea
      id={id}
      ref={(field) => field?.setCustomValidity(isWrong ? labels.notJson : '')}
      rows={text.length > 60 ? 3 : 1}
      value={text}
      aria-invalid={isWrong}
      onChange={(event) => change(event.target.value)}
    />
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

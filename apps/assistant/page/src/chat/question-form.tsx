import type { Interrupt } from '@ag-ui/client'
import { useEffect, useId, useRef } from 'react'
import type { Conversation, FormAnswer } from '../conversation/conversation.ts'
import type { CallItem } from '../conversation/items.ts'
import { focusComposer } from './composer.tsx'

interface QuestionFormProps {
  readonly question: Interrupt
  readonly call: CallItem
  readonly conversation: Conversation
}

/** A field of a form, as JSON Schema describes it. */
interface FieldSchema {
  readonly type?: string
  readonly title?: string
  readonly enum?: readonly string[]
}

/** Asks what a tool wants to know while it runs: a form of plain fields. */
export function QuestionForm({ question, call, conversation }: QuestionFormProps) {
  const form = useRef<HTMLFormElement>(null)
  const fields = fieldsOf(question)

  useEffect(() => form.current?.querySelector('input')?.focus(), [])

  return (
    <form
      ref={form}
      className="approval"
      aria-label="Question"
      onSubmit={(event) => {
        event.preventDefault()
        void conversation.answer(question.id, answerIn(new FormData(event.currentTarget), fields))
        focusComposer()
      }}
    >
      <h3>{question.message ?? 'What shall it be?'}</h3>
      <div className="question-fields">
        {fields.map(([name, schema]) => (
          <Field key={name} name={name} schema={schema} isAlone={fields.length === 1} />
        ))}
      </div>
      <div className="approval-answers">
        <button type="submit" className="primary">
          Answer
        </button>
        <button
          type="button"
          className="plain"
          onClick={() => {
            void conversation.dismiss(question.id)
            focusComposer()
          }}
        >
          Never mind
        </button>
        <span className="approval-by">{call.agent} waits</span>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly name: string
  readonly schema: FieldSchema
  /** The only field of a form needs no name, because the question has it. */
  readonly isAlone: boolean
}

function Field({ name, schema, isAlone }: FieldProps) {
  const id = useId()
  const label = schema.title ?? name
  if (schema.enum) {
    return (
      <fieldset>
        <legend className={isAlone ? 'sr-only' : undefined}>{label}</legend>
        {schema.enum.map((value, i) => (
          <label key={value} className="choice">
            <input type="radio" name={name} value={value} required defaultChecked={i === 0} />
            {value}
          </label>
        ))}
      </fieldset>
    )
  }
  const type = schema.type === 'boolean' ? 'checkbox' : isNumber(schema) ? 'number' : 'text'
  return (
    <div>
      <label htmlFor={id} className={isAlone ? 'sr-only' : undefined}>
        {label}
      </label>
      <input
        id={id}
        type={type}
        name={name}
        required={type !== 'checkbox'}
        step={schema.type === 'number' ? 'any' : undefined}
      />
    </div>
  )
}

/** The fields that a question asks for; without a form, one text. */
function fieldsOf({ responseSchema }: Interrupt): readonly (readonly [string, FieldSchema])[] {
  const { properties } = (responseSchema ?? {}) as { readonly properties?: Record<string, FieldSchema> }
  return Object.entries(properties ?? { answer: { type: 'string' } })
}

function answerIn(data: FormData, fields: readonly (readonly [string, FieldSchema])[]): FormAnswer {
  return Object.fromEntries(
    fields.map(([name, schema]) => {
      const value = data.get(name)
      if (schema.type === 'boolean') return [name, value !== null]
      return [name, isNumber(schema) ? Number(value) : value]
    }),
  )
}

function isNumber({ type }: FieldSchema): boolean {
  return type === 'number' || type === 'integer'
}

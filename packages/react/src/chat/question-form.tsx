import { type ReactNode, useEffect, useId, useRef } from 'react'
import { agentOf, isExpired } from './agent-of.ts'
import type { QuestionProps } from './components.ts'
import { useConversation } from './conversation-context.ts'
import { answerIn, choicesOf, type FormField, formOf, inputType, isJson } from './form-schema.ts'

/** Asks for what the schema of a question describes: texts, numbers, choices, yes or no. */
export function QuestionForm({ question, item }: QuestionProps): ReactNode {
  const { labels, actions, focusComposer } = useConversation()
  const form = useRef<HTMLFormElement>(null)
  const schema = formOf(question.responseSchema)
  const isLate = isExpired(question)

  useEffect(() => form.current?.querySelector<HTMLElement>('input, select, textarea')?.focus(), [])

  return (
    <form
      ref={form}
      className="troupe-question"
      aria-label={labels.question}
      onSubmit={(event) => {
        event.preventDefault()
        void actions.answer(question.id, answerIn(schema, new FormData(event.currentTarget)))
        focusComposer()
      }}
    >
      <h3>{question.message ?? labels.whatShallItBe}</h3>
      {isLate && <p>{labels.expired}</p>}
      <div className="troupe-fields">
        {schema.fields.map((field) => (
          <Field key={field.name} field={field} isAlone={schema.fields.length === 1} />
        ))}
      </div>
      <div className="troupe-answers">
        <button type="submit" className="troupe-primary" disabled={isLate}>
          {labels.answer}
        </button>
        <button
          type="button"
          className="troupe-plain"
          onClick={() => {
            void actions.dismiss(question.id)
            focusComposer()
          }}
        >
          {labels.neverMind}
        </button>
        <span className="troupe-asks">{labels.waits(agentOf({ question, item }))}</span>
      </div>
    </form>
  )
}

interface FieldProps {
  readonly field: FormField
  /** The only field of a form needs no name, because the question has it. */
  readonly isAlone: boolean
}

function Field({ field, isAlone }: FieldProps): ReactNode {
  const id = useId()
  const { name, schema } = field
  const label = schema.title ?? name
  const help = schema.description === undefined ? undefined : `${id}-help`
  const hidden = isAlone ? 'troupe-hidden' : undefined
  return (
    <>
      {choicesOf(schema) ? (
        <Choices field={field} label={label} help={help} hidden={hidden} />
      ) : (
        <div className="troupe-field" data-type={inputType(schema)}>
          <label htmlFor={id} className={hidden}>
            {label}
          </label>
          <Input id={id} field={field} help={help} />
        </div>
      )}
      {help !== undefined && (
        <p id={help} className="troupe-help">
          {schema.description}
        </p>
      )}
    </>
  )
}

interface ChoicesProps {
  readonly field: FormField
  readonly label: string
  readonly help: string | undefined
  readonly hidden: string | undefined
}

function Choices({ field: { name, schema, isRequired }, label, help, hidden }: ChoicesProps): ReactNode {
  const isMany = schema.type === 'array'
  const given = isMany && Array.isArray(schema.default) ? schema.default : [schema.default]
  return (
    <fieldset aria-describedby={help}>
      <legend className={hidden}>{label}</legend>
      {choicesOf(schema)?.map(({ value, label: text }, i) => (
        <label key={`${i}`} className="troupe-choice">
          <input
            type={isMany ? 'checkbox' : 'radio'}
            name={name}
            value={i}
            required={!isMany && isRequired}
            defaultChecked={given.includes(value) || (!isMany && isRequired && schema.default === undefined && i === 0)}
          />
          {text}
        </label>
      ))}
    </fieldset>
  )
}

interface InputProps {
  readonly id: string
  readonly field: FormField
  readonly help: string | undefined
}

function Input({ id, field: { name, schema, isRequired }, help }: InputProps): ReactNode {
  const { labels } = useConversation()
  const { default: given, minimum, maximum, minLength, maxLength, pattern } = schema
  const type = inputType(schema)
  const shared = { id, name, 'aria-describedby': help }
  if (isJson(schema)) {
    return (
      <textarea
        {...shared}
        required={isRequired}
        defaultValue={given === undefined ? '' : JSON.stringify(given)}
        onInput={({ currentTarget }) => {
          currentTarget.setCustomValidity(
            currentTarget.value === '' || isParsed(currentTarget.value) ? '' : labels.notJson,
          )
        }}
      />
    )
  }
  if (type === 'checkbox') return <input {...shared} type={type} defaultChecked={given === true} />
  return (
    <input
      {...shared}
      type={type}
      required={isRequired}
      defaultValue={typeof given === 'string' || typeof given === 'number' ? given : undefined}
      min={minimum}
      max={maximum}
      minLength={minLength}
      maxLength={maxLength}
      pattern={pattern}
      step={schema.type === 'number' ? 'any' : undefined}
    />
  )
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

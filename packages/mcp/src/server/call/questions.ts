import {
  type ClientCapabilities,
  type InputRequest,
  type InputRequests,
  inputRequired,
  inputResponse,
} from '@modelcontextprotocol/server'
import type { Interrupt, Json, JsonObject, JsonSchema } from '@troupe/kernel'

/** The name of the only field of a question whose answer is not an object. */
const ANSWER = 'answer'
const FLAT = new Set(['string', 'number', 'integer', 'boolean'])

/** Whether a client can be asked anything that needs a form. */
export function canBeAsked(capabilities: ClientCapabilities | undefined): boolean {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** Questions by the key under which a client answers: the question's own `key` where that is unambiguous, otherwise its id. */
function keyed(interrupts: readonly Interrupt[]): ReadonlyMap<string, Interrupt> {
  const count = (key: string) => interrupts.filter((other) => other.key === key).length
  return new Map(
    interrupts.map((interrupt) => {
      const { key, id } = interrupt
      return [key !== undefined && count(key) === 1 ? key : id, interrupt]
    }),
  )
}

/** The open questions of a thread as requests to its client. */
export function inputRequests(interrupts: readonly Interrupt[]): InputRequests {
  return Object.fromEntries(Array.from(keyed(interrupts), ([key, interrupt]) => [key, requestOf(interrupt)]))
}

function requestOf(interrupt: Interrupt): InputRequest {
  return inputRequired.elicit({ message: messageOf(interrupt), requestedSchema: formOf(interrupt) as never })
}

/** What a person reads. Contract: an approval shows the arguments that it is for, and a page to visit is named. */
export function messageOf(interrupt: Interrupt): string {
  const { reason, message, metadata } = interrupt
  const shown = reason === 'approval' ? metadata?.arguments : urlOf(interrupt)
  const text = message ?? reason
  return typeof shown === 'string' && shown !== '' && shown !== '{}' ? `${text}\n${shown}` : text
}

/** The page that a question is about, such as that of a sign-in. */
function urlOf({ metadata }: Interrupt): string | undefined {
  const url = metadata?.url
  return typeof url === 'string' && /^https?:/.test(url) ? url : undefined
}

/** The form for an answer: protocol forms are flat objects of plain fields. */
function formOf(interrupt: Interrupt): JsonSchema {
  const { reason, responseSchema: schema } = interrupt
  if (reason === 'approval') {
    return {
      type: 'object',
      properties: { approved: { type: 'boolean', title: 'Approve' }, message: { type: 'string', title: 'Message' } },
      required: ['approved'],
    }
  }
  if (schema && isForm(schema)) return { type: 'object', required: [], ...pick(schema, ['properties', 'required']) }
  return { type: 'object', properties: { [ANSWER]: fieldOf(interrupt) }, required: [ANSWER] }
}

function fieldOf(interrupt: Interrupt): JsonSchema {
  const { responseSchema: schema } = interrupt
  if (!schema) return urlOf(interrupt) === undefined ? { type: 'string' } : { type: 'boolean', title: 'Done' }
  return isField(schema) ? schema : { type: 'string', description: asJson(schema) }
}

function asJson(schema: JsonSchema): string {
  return `JSON for this schema: ${JSON.stringify(schema)}`
}

function isForm(schema: JsonSchema): boolean {
  const { type, properties } = schema
  if (type !== 'object' || typeof properties !== 'object' || properties === null) return false
  return Object.values(properties).every((field) => isField(field as JsonObject))
}

/** Whether a form can have it as a field: a plain value, or a choice of several texts. */
function isField(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  const { type, items } = schema as JsonObject
  if (type === 'array') return typeof items === 'object' && items !== null && ('enum' in items || 'anyOf' in items)
  return typeof type === 'string' && FLAT.has(type)
}

function pick(schema: JsonSchema, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.flatMap((name) => (schema[name] === undefined ? [] : [[name, schema[name]]])))
}

/** What a client has said to the open questions. */
export interface GivenAnswers {
  readonly answers: { readonly [id: string]: Json }
  /** Questions that the person declined. */
  readonly closed: readonly string[]
  /** Questions without a usable answer. */
  readonly missing: readonly Interrupt[]
  /** Questions that the person has put off. */
  readonly cancelled: readonly Interrupt[]
}

/** Reads the responses of a client. Contract: of the open questions alone; anything else in the responses is ignored. */
export function answersOf(
  interrupts: readonly Interrupt[],
  responses: Record<string, unknown> | undefined,
): GivenAnswers {
  const answers: [string, Json][] = []
  const closed: string[] = []
  const missing: Interrupt[] = []
  const cancelled: Interrupt[] = []
  for (const [key, interrupt] of keyed(interrupts)) {
    const response = inputResponse(responses, key)
    if (response.kind !== 'elicit') missing.push(interrupt)
    else if (response.action === 'decline') closed.push(interrupt.id)
    else if (response.action === 'cancel') cancelled.push(interrupt)
    else {
      const answer = answerOf(interrupt, (response.content ?? {}) as JsonObject)
      if (answer === undefined) missing.push(interrupt)
      else answers.push([interrupt.id, answer])
    }
  }
  return { answers: Object.fromEntries(answers), closed, missing, cancelled }
}

function answerOf({ reason, responseSchema: schema }: Interrupt, content: JsonObject): Json | undefined {
  if (reason === 'approval') {
    const { approved, message } = content
    if (typeof approved !== 'boolean') return undefined
    return { approved, ...(typeof message === 'string' && message !== '' && { message }) }
  }
  if (schema && isForm(schema)) return content
  const answer = content[ANSWER]
  if (!schema || isField(schema) || typeof answer !== 'string') return answer
  try {
    return JSON.parse(answer) as Json
  } catch {
    return undefined
  }
}

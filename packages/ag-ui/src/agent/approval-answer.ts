import { type Interrupt, type Json, type JsonObject, KernelError } from '@troupe/kernel'
import { ARGUMENTS, EDITED, propertiesOf } from '../translate/interrupt-of.ts'

/**
 * The answer to an approval, from the words of clients: `editedArgs` become the kernel's `arguments`, and the `reason` of a refusal its `message`.
 * Contract: throws `VALIDATION_FAILED` for a field that the question does not have, because a part of an answer is not that answer; the Runner checks the values.
 */
export function approvalAnswer({ id, responseSchema }: Interrupt, payload: Json): Json {
  const properties = propertiesOf(responseSchema)
  if (!properties || typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload
  const editable = Object.hasOwn(properties, ARGUMENTS)
  const given = Object.entries(inKernelWords(payload as JsonObject, properties)).filter(([, value]) => value !== null)
  const isKnown = (name: string) => Object.hasOwn(properties, name) || (editable && name === EDITED)
  const unknown = given.map(([name]) => name).filter((name) => !isKnown(name))
  if (unknown.length > 0) {
    const known = Object.keys(properties).map((name) => (name === ARGUMENTS ? EDITED : name))
    throw invalid(id, `has unknown fields: ${unknown.join(', ')}; expected ${known.join(', ')}`)
  }
  const { [EDITED]: edited, ...answer } = Object.fromEntries(given)
  if (edited === undefined) return answer
  if (ARGUMENTS in answer) throw invalid(id, `has both ${EDITED} and ${ARGUMENTS}`)
  if (typeof edited !== 'object' || Array.isArray(edited)) throw invalid(id, `must have an object as ${EDITED}`)
  return { ...answer, [ARGUMENTS]: JSON.stringify(edited) }
}

/** Contract: a `reason` stays where the question has such a field, or the answer has a message too. */
function inKernelWords(payload: JsonObject, properties: JsonObject): JsonObject {
  const { [REASON]: reason, ...others } = payload
  const isMessage = Object.hasOwn(properties, MESSAGE) && !Object.hasOwn(properties, REASON)
  if (reason === undefined || !isMessage || MESSAGE in others) return payload
  return { ...others, [MESSAGE]: reason }
}

/** The field of a refusal that says why, for assistant-ui and for the kernel. */
const REASON = 'reason'
const MESSAGE = 'message'

function invalid(id: string, what: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `resume: the answer to ${id} ${what}`, { details: { id } })
}

import { type Interrupt, type Json, type JsonObject, KernelError } from '@troupe/kernel'
import { ARGUMENTS, EDITED, propertiesOf } from '../translate/interrupt-of.ts'

/**
 * The answer to an approval, from the words of the protocol: `editedArgs` become the kernel's `arguments`.
 * Contract: throws `VALIDATION_FAILED` for a field that the question does not have, because a part of an answer is not that answer; the Runner checks the values.
 */
export function approvalAnswer({ id, responseSchema }: Interrupt, payload: Json): Json {
  const properties = propertiesOf(responseSchema)
  if (!properties || typeof payload !== 'object' || payload === null || Array.isArray(payload)) return payload
  const editable = Object.hasOwn(properties, ARGUMENTS)
  const given = Object.entries(payload as JsonObject).filter(([, value]) => value !== null)
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

function invalid(id: string, what: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `resume: the answer to ${id} ${what}`, { details: { id } })
}

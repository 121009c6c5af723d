import type { Readable, Writable } from 'node:stream'
import { type Option as PromptOption, select, text } from '@clack/prompts'
import { type Asker, Cancelled, type Option } from './choices.ts'

/** Asks in a terminal. */
export function prompts(input: Readable, output: Writable): Asker {
  return {
    async text(message, initial, refuse) {
      const validate = (value: string | undefined) => refuse(value || initial)
      return answered(await text({ message, placeholder: initial, defaultValue: initial, validate, input, output }))
    },
    async select<Value extends string>(message: string, options: readonly Option<Value>[], initialValue: Value) {
      // Their type distributes over the values, which are not known here.
      const choices = options as unknown as PromptOption<Value>[]
      return answered<Value>(await select<Value>({ message, options: choices, initialValue, input, output }))
    },
  }
}

/** Contract: what is not a text is the sign that the person has stopped. */
function answered<Value extends string>(value: Value | symbol): Value {
  if (typeof value === 'symbol') throw new Cancelled()
  return value
}

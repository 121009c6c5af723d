import type { Interrupt } from '@troupe/kernel'
import { describe, expect, it } from 'vitest'
import { answersOf, canBeAsked, inputRequests } from './questions.ts'

const question = (own: Partial<Interrupt>): Interrupt => ({ id: 'c1#x', agentName: 'a', reason: 'input', ...own })
const paramsOf = (own: Partial<Interrupt>) => Object.values(inputRequests([question(own)]))[0]?.params
const accepted = (content: object) => ({ 'c1#x': { action: 'accept', content } })

describe('questions as forms', () => {
  it('a question without a schema has one field of text, one with a page to visit a box', () => {
    expect(paramsOf({ message: 'Why?' })).toMatchObject({
      message: 'Why?',
      requestedSchema: { properties: { answer: { type: 'string' } }, required: ['answer'] },
    })
    expect(paramsOf({ message: 'Pay here.', metadata: { url: 'https://pay.example/1' } })).toMatchObject({
      message: 'Pay here.\nhttps://pay.example/1',
      requestedSchema: { properties: { answer: { type: 'boolean' } } },
    })
  })

  it('a sign-in is asked with its page and its own fields', () => {
    const responseSchema = {
      type: 'object',
      properties: { redirectedTo: { type: 'string' } },
      required: ['redirectedTo'],
    }
    const asked = { reason: 'auth', message: 'Sign in.', responseSchema, metadata: { url: 'https://id.example/a' } }
    expect(paramsOf(asked)).toMatchObject({
      message: 'Sign in.\nhttps://id.example/a',
      requestedSchema: { properties: { redirectedTo: { type: 'string' } } },
    })
    const given = answersOf([question(asked)], accepted({ redirectedTo: 'http://localhost/?code=1' }))
    expect(given.answers).toEqual({ 'c1#x': { redirectedTo: 'http://localhost/?code=1' } })
  })

  it('an answer that no form can have is JSON in a text', () => {
    const responseSchema = { type: 'object', properties: { places: { type: 'array', items: { type: 'object' } } } }
    const asked = question({ responseSchema })
    expect(answersOf([asked], accepted({ answer: '{"places":[]}' })).answers).toEqual({ 'c1#x': { places: [] } })
    expect(answersOf([asked], accepted({ answer: '{"places":' })).missing).toEqual([asked])
  })

  it('a key names a question only where it is the only one', () => {
    const keys = (...interrupts: Interrupt[]) => Object.keys(inputRequests(interrupts))
    const [one, two] = [question({ key: 'who', id: '1' }), question({ key: 'who', id: '2' })]
    expect(keys(one)).toEqual(['who'])
    expect(keys(one, two)).toEqual(['1', '2'])
  })
})

describe('answers of a client', () => {
  it.each([
    ['no answer', undefined, 'missing'],
    ['a number', { 'c1#x': 12 }, 'missing'],
    ['an answer to something else', { other: { action: 'accept', content: {} } }, 'missing'],
    ['a declined question', { 'c1#x': { action: 'decline' } }, 'closed'],
    ['a question that was put off', { 'c1#x': { action: 'cancel' } }, 'cancelled'],
  ] as const)('%s', (_, responses, where) => {
    const given = answersOf([question({})], responses as never)
    expect(given[where]).toHaveLength(1)
    expect(given.answers).toEqual({})
  })

  it('an approval without its boolean is no approval', () => {
    const asked = question({ reason: 'approval' })
    expect(answersOf([asked], accepted({ approved: 'yes' })).missing).toEqual([asked])
    expect(answersOf([asked], accepted({ approved: false, message: '' })).answers).toEqual({
      'c1#x': { approved: false },
    })
  })
})

it('a client can be asked if it shows forms', () => {
  expect(
    [undefined, {}, { elicitation: {} }, { elicitation: { form: {} } }, { elicitation: { url: {} } }].map(canBeAsked),
  ).toEqual([false, false, true, true, false])
})

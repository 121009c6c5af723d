import { setTimeout as pause } from 'node:timers/promises'
import { defineTool, type Tool } from '@troupe/kernel'

const FERRIES = [
  { to: 'Skarholm', at: '08:15', seats: 12 },
  { to: 'Skarholm', at: '13:40', seats: 3 },
  { to: 'Vitsund', at: '09:30', seats: 40 },
  { to: 'Vitsund', at: '18:05', seats: 8 },
] as const
const TO = { enum: ['Skarholm', 'Vitsund'] } as const

/** Lists ferries. */
export const departures: Tool<{ to: 'Skarholm' | 'Vitsund' }> = defineTool({
  name: 'departures',
  description: 'Lists the ferries of today.',
  parameters: { type: 'object', properties: { to: TO }, required: ['to'] },
  kind: 'read',
  effect: 'pure',
  invoke: ({ to }) => ({ ferries: FERRIES.filter((ferry) => ferry.to === to) }),
})

/** Asks which ferry, then takes seat after seat. */
export const bookFerry: Tool<{ to: 'Skarholm' | 'Vitsund'; people: number }> = defineTool({
  name: 'book_ferry',
  description: 'Books seats on a ferry.',
  parameters: {
    type: 'object',
    properties: { to: TO, people: { type: 'integer', minimum: 1, maximum: 6 } },
    required: ['to', 'people'],
  },
  kind: 'write',
  async *stream({ to, people }, ctx) {
    const possible = FERRIES.filter((ferry) => ferry.to === to && ferry.seats >= people)
    const at = await ctx.interrupt<string | null>({
      reason: 'input',
      message: `Which ferry to ${to}?`,
      responseSchema: { type: 'string', enum: possible.map((ferry) => ferry.at) },
    })
    if (at === null) return 'Nothing was booked.'
    for (let seat = 1; seat <= people; seat++) {
      yield `seat ${seat} of ${people} is taken`
      // A harbour takes its time.
      await pause(300, undefined, { signal: ctx.signal })
    }
    return { booked: { to, at, people } }
  },
})

import { defineTool, type Tool } from '@troupe/kernel'

const REPORTS = ['sunny, 24 °C', 'cloudy, 18 °C', 'light rain, 15 °C', 'windy, 12 °C']

/** The weather in a city, made up but always the same for the same city. */
export function weatherTool(): Tool {
  return defineTool({
    name: 'get_weather',
    description: 'The weather in a city right now.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    kind: 'read',
    effect: 'pure',
    invoke({ city }) {
      const letters = [...city.toLowerCase()].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0)
      return `It is ${REPORTS[letters % REPORTS.length]} in ${city} (demo data).`
    },
  }) as Tool
}

import type { MakeAgent } from '../app.ts'
import { weatherTool } from '../tools/weather.ts'

/** Knows the weather. */
export const agent: MakeAgent = ({ newAgent }) =>
  newAgent({
    name: 'WeatherAgent',
    description: 'Knows the weather in any city.',
    instruction: 'You tell the weather. Use get_weather for a city and answer in one short sentence.',
    tools: [weatherTool()],
  })

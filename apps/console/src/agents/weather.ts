import type { MakeAgent } from '../app.ts'
import { weatherTool } from '../weather-tool.ts'

/** Knows the weather. */
export const agent: MakeAgent = ({ newAgent }) =>
  newAgent({
    name: 'WeatherAgent',
    description: 'This agent can get the current weather for a given city.',
    instruction: 'You tell the weather. Use get_weather for a city and answer in one short sentence.',
    tools: [weatherTool()],
  })

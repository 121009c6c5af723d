import { testTool } from '@troupe/testkit'
import { weatherTool } from './weather-tool.ts'

testTool('weatherTool', weatherTool, { args: { city: 'Beijing' }, invalid: [{}, { city: 1 }] })

import { expect, it } from 'vitest'
import { words } from './words.ts'

it.each([
  ['get_weather getWeather XMLReader', ['get', 'weather', 'get', 'Weather', 'XMLReader']],
  ['Über-Größe: 42!', ['Über', 'Größe', '42']],
  ['会议在北京 room7号', ['会议', '议在', '在北', '北京', '号', 'room7']],
  ['', []],
  [' – ', []],
])('finds the words of %j', (text, expected) => {
  expect(words(text)).toEqual(expected)
})

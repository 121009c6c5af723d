import { expect, it } from 'vitest'
import { dialectOf } from './dialect.ts'

it.each([
  ['openai.responses', 'openai'],
  ['azure.chat', 'openai'],
  ['mistral.chat', 'openai'],
  ['ollama.chat', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['vertex.anthropic.messages', 'anthropic'],
  ['amazon-bedrock', 'anthropic'],
  ['google.generative-ai', 'google'],
  ['google.vertex.chat', 'google'],
])('%s takes the schemas of %s', (provider, dialect) => {
  expect(dialectOf(provider)).toBe(dialect)
})

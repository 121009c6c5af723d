import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { renameVendor, VENDORS } from './vendor.ts'

it('the versions of vendors are those that the apps of this repository are tested with', () => {
  const manifest = join(import.meta.dirname, '../../../apps/setup/package.json')
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8'))
  for (const { package: name, version } of VENDORS)
    expect({ name, version }).toEqual({ name, version: dependencies[name] })
})

it('the names of a vendor replace those of the template, whole words alone, and none twice', () => {
  const text = `import { openai } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
OPENAI_API_KEY openai('gpt-5') OpenAI "@ai-sdk/openai": "4.0.114" MY_OPENAI_API_KEY`
  const [, anthropic] = VENDORS
  expect(anthropic && renameVendor(text, anthropic)).toBe(`import { anthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
ANTHROPIC_API_KEY anthropic('claude-sonnet-4-5') Anthropic "@ai-sdk/anthropic": "4.0.102" MY_OPENAI_API_KEY`)
})

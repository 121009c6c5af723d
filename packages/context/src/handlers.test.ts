import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel, testHandler, testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import {
  type CompactionOptions,
  compaction,
  type OffloadOptions,
  offload,
  type PromptCacheOptions,
  promptCache,
  type ToolSearchOptions,
  toolSearch,
} from './index.ts'

const store = memoryStore()
const model = scriptedModel([])

testHandler('compaction', () => compaction({ model }))
testHandler('compaction with a store', () => compaction({ model, maxTokens: 10, store }))
testHandler('toolSearch', () => toolSearch())
testHandler('toolSearch of few tools', () => toolSearch({ from: 1 }))
testHandler('offload', () => offload({ store }))
testHandler('offload of short results', () => offload({ store, maxChars: 1, previewChars: 1 }))
testHandler('promptCache', () => promptCache())

const compacting: Required<CompactionOptions> = {
  model,
  maxTokens: 1_000,
  keepTokens: 100,
  store,
  clean: (message) => message,
}
const searching: Required<ToolSearchOptions> = { always: ['look'], limit: 3, from: 10 }
const offloading: Required<OffloadOptions> = { store, maxChars: 100, previewChars: 10 }
const caching: Required<PromptCacheOptions> = { ttl: '1h' }

testOptions<CompactionOptions>('compaction', compaction, compacting)
testOptions<ToolSearchOptions>('toolSearch', toolSearch, searching)
testOptions<OffloadOptions>('offload', offload, offloading)
testOptions<PromptCacheOptions>('promptCache', promptCache, caching)

test.each([
  [() => compaction({ model, maxTokens: 0 }), 'compaction: maxTokens must be a whole number from 1 on, got 0'],
  [
    () => compaction({ model, maxTokens: 10, keepTokens: 10 }),
    'compaction: keepTokens must be a whole number below maxTokens',
  ],
  [() => compaction({ model, clean: 'x' as never }), 'compaction: clean must be a function'],
  [() => compaction({ model, store: {} as never }), 'compaction: store must have threads'],
  [() => compaction({ model: 'small' as never }), 'compaction: model is a ChatModel and not its name'],
  [() => toolSearch({ always: 'look' as never }), 'toolSearch: always must be a list of names'],
  [() => toolSearch({ limit: 0 }), 'toolSearch: limit must be a whole number from 1 on, got 0'],
  [() => toolSearch({ from: 1.5 }), 'toolSearch: from must be a whole number from 1 on, got 1.5'],
  [() => offload({ store: {} }), 'offload: store must be a store with blobs'],
  [() => offload({ store, maxChars: -1 }), 'offload: maxChars must be a whole number from 1 on, got -1'],
  [() => offload({ store, maxChars: 5 }), 'offload: previewChars must be a whole number up to maxChars, got 1000'],
  [() => promptCache({ ttl: '2h' as never }), "promptCache: ttl must be '5m' or '1h', got"],
])('an option that is wrong is refused: %s', (make, message) => {
  expect(make).toThrow(message)
})

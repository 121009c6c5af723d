import { memoryStore } from '@troupe/kernel/memory-store'
import { scriptedModel, testHandler, testOptions } from '@troupe/testkit'
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
const { blobs } = store
const model = scriptedModel([])

testHandler('compaction', () => compaction({ model }))
testHandler('compaction with a store', () => compaction({ model, maxTokens: 10, store }))
testHandler('toolSearch', () => toolSearch())
testHandler('toolSearch of few tools', () => toolSearch({ from: 1 }))
testHandler('offload', () => offload({ blobs }))
testHandler('offload of short results', () => offload({ blobs, maxChars: 1, previewChars: 1 }))
testHandler('promptCache', () => promptCache())

const compacting: Required<CompactionOptions> = { model, maxTokens: 1_000, keepTokens: 100, store }
const searching: Required<ToolSearchOptions> = { always: ['look'], limit: 3, from: 10 }
const offloading: Required<OffloadOptions> = { blobs, maxChars: 100, previewChars: 10 }
const caching: Required<PromptCacheOptions> = { ttl: '1h' }

testOptions<CompactionOptions>('compaction', compaction, compacting)
testOptions<ToolSearchOptions>('toolSearch', toolSearch, searching)
testOptions<OffloadOptions>('offload', offload, offloading)
testOptions<PromptCacheOptions>('promptCache', promptCache, caching)

import { testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import {
  type HistoryBudgetOptions,
  historyBudget,
  type LoggingOptions,
  logging,
  type ToolCacheOptions,
  type ToolCallLimitOptions,
  type TruncateResultsOptions,
  toolCache,
  toolCallLimit,
  truncateResults,
} from './index.ts'

const cache: Required<ToolCacheOptions> = {
  tools: [],
  key: () => 'k',
  maxEntries: 1,
  ttlMs: 1,
  clock: Date,
  shared: true,
}
const budget: Required<HistoryBudgetOptions> = {
  maxTokens: 10,
  count: () => 1,
  keepLast: 1,
  trimTo: 5,
  summarize: () => '',
}
const log: Required<LoggingOptions> = { log: () => {}, level: 'warn', content: true, trace: () => undefined }
const limit: Required<ToolCallLimitOptions> = { perRun: 1, perTool: {} }
const truncate: Required<TruncateResultsOptions> = { maxChars: 100, keep: 'head' }

testOptions<ToolCacheOptions>('toolCache', toolCache, cache)
testOptions<HistoryBudgetOptions>('historyBudget', historyBudget, budget)
testOptions<LoggingOptions>('logging', logging, log)
testOptions<ToolCallLimitOptions>('toolCallLimit', toolCallLimit, limit)
testOptions<TruncateResultsOptions>('truncateResults', truncateResults, truncate)

test.each([logging, historyBudget, toolCallLimit])('the error says what is missing: $name()', (make) => {
  expect(() => make(undefined as never)).toThrow(/expected an object of options, got undefined/)
})

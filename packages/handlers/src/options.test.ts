import { memoryStore } from '@troupe/kernel/memory-store'
import { testOptions } from '@troupe/testkit'
import { expect, test } from 'vitest'
import {
  type BudgetOptions,
  budget,
  EMAIL,
  type GuardrailsOptions,
  guardrails,
  type HistoryBudgetOptions,
  historyBudget,
  type LoggingOptions,
  logging,
  type RedactionOptions,
  redaction,
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
const history: Required<HistoryBudgetOptions> = {
  maxTokens: 10,
  count: () => 1,
  keepLast: 1,
  trimTo: 5,
  summarize: () => '',
}
const log: Required<LoggingOptions> = { log: () => {}, level: 'warn', content: true, trace: () => undefined }
const limit: Required<ToolCallLimitOptions> = { perRun: 1, perTool: {} }
const truncate: Required<TruncateResultsOptions> = { maxChars: 100, keep: 'head' }

const spend: Required<BudgetOptions> = {
  limits: [{ per: 'run', tokens: 1 }],
  store: memoryStore(),
  price: () => 1,
  warnAt: 0.5,
}
const checks: Required<GuardrailsOptions> = { output: () => {}, toolResults: () => {}, hold: 'answer' }
const redact: Required<RedactionOptions> = { rules: [EMAIL] }

testOptions<BudgetOptions>('budget', budget, spend)
testOptions<GuardrailsOptions>('guardrails', guardrails, checks)
testOptions<RedactionOptions>('redaction', redaction, redact)
testOptions<ToolCacheOptions>('toolCache', toolCache, cache)
testOptions<HistoryBudgetOptions>('historyBudget', historyBudget, history)
testOptions<LoggingOptions>('logging', logging, log)
testOptions<ToolCallLimitOptions>('toolCallLimit', toolCallLimit, limit)
testOptions<TruncateResultsOptions>('truncateResults', truncateResults, truncate)

test.each([logging, historyBudget, toolCallLimit])('the error says what is missing: $name()', (make) => {
  expect(() => make(undefined as never)).toThrow(/expected an object of options, got undefined/)
})

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { thirdLine } from './tests/integration/src/otel/third-line.ts'
import { journalEveryRun } from './tests/journalled/journal-every-run-plugin.ts'

/** One more than there are processors: many tests wait for processes, pages and timers. */
const maxWorkers = availableParallelism() + 1

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          maxWorkers,
          // The files of a worker share what they import, which is half of the time; no test mocks a module, and fixtures have no hooks.
          isolate: false,
          testTimeout: 20_000,
          hookTimeout: 30_000,
          include: ['packages/*/src/**/*.test.ts'],
        },
      },
      {
        test: {
          // Tests of several packages, the apps and the pages.
          name: 'together',
          maxWorkers,
          // Many tests start processes, and a busy machine is no fault.
          testTimeout: 20_000,
          hookTimeout: 30_000,
          include: [
            'apps/*/src/**/*.test.ts',
            'apps/*/page/src/**/*.test.ts',
            'templates/*/src/**/*.test.ts',
            'examples/*/src/**/*.test.ts',
            'tests/integration/src/**/*.test.ts',
            'tests/mcp/src/**/*.test.ts',
            'tests/react/src/**/*.test.{ts,tsx}',
            'tests/docs/*.test.ts',
            'bench/src/**/*.test.ts',
          ],
          exclude: ['**/*.browser.test.ts', '**/node_modules/**'],
        },
      },
      {
        plugins: [journalEveryRun()],
        test: {
          // The same tests with a journal under every root run: it must change nothing that they see.
          name: 'journalled',
          maxWorkers,
          isolate: false,
          testTimeout: 20_000,
          hookTimeout: 30_000,
          include: ['packages/{chat-model,flow,subagent,handlers}/src/**/*.test.ts', 'tests/journalled/*.test.ts'],
          setupFiles: 'tests/journalled/setup.ts',
        },
      },
      {
        plugins: [thirdLine()],
        test: {
          // The same tests with the other line of the SDKs of OpenTelemetry, which excludes the first.
          name: 'otel-3',
          maxWorkers,
          testTimeout: 20_000,
          include: ['packages/otel/src/**/*.test.ts'],
          env: { OTEL_LINE: '3' },
        },
      },
      {
        test: {
          name: 'browser',
          include: process.env.TROUPE_NO_BROWSER === '1' ? [] : ['{apps,tests}/*/**/*.browser.test.ts'],
          globalSetup: 'apps/assistant/browser/unpack-chromium.ts',
          maxWorkers,
          testTimeout: 60_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'faults',
          include: ['tests/faults/src/**/*.test.ts'],
          // They keep the processors busy themselves, and their leases are short.
          fileParallelism: false,
          testTimeout: 240_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          // Runs on a real Restate server; left out where npm has none. `pnpm test:durable` is all of it.
          name: 'durable',
          include: ['tests/durable/src/**/*.test.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'workspace',
          maxWorkers,
          include: ['scripts/*.test.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'publish',
          maxWorkers,
          include: ['scripts/publish/*.test.ts'],
          // One release, which all of these tests install from.
          globalSetup: 'scripts/publish/release-once.ts',
          testTimeout: 240_000,
          hookTimeout: 240_000,
        },
      },
    ],
  },
})

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'apps/*/src/**/*.test.ts',
            'examples/*/src/**/*.test.ts',
            'docs/**/*.test.ts',
          ],
        },
      },
      { test: { name: 'workspace', include: ['scripts/**/*.test.ts'], testTimeout: 120_000, hookTimeout: 120_000 } },
    ],
  },
})

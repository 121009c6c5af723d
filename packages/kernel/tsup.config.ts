import { defineConfig } from 'tsup'

export default defineConfig({
  entry: [
    'src/index.ts',
    'src/history.ts',
    'src/journal.ts',
    'src/kit.ts',
    'src/memory-store.ts',
    'src/run.ts',
    'src/store.ts',
  ],
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
})

import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
  noExternal: ['@troupe/durable'],
  // Named as in the source.
  removeNodeProtocol: false,
})

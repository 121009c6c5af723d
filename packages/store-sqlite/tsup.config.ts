import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts'],
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
  noExternal: ['@troupe/store-sql'],
  // There is no module `sqlite` without its prefix.
  removeNodeProtocol: false,
})

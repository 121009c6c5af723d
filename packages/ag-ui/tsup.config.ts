import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/client.ts', 'src/node.ts', 'src/verify.ts'],
  format: 'esm',
  target: 'node22',
  // With its types, because the package is private.
  dts: { resolve: ['@troupe/http', /^\./] },
  clean: true,
  noExternal: ['@troupe/http'],
  removeNodeProtocol: false,
})

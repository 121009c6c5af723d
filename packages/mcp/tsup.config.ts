import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { index: 'src/index.ts', server: 'src/server/index.ts', 'server-node': 'src/server/node.ts' },
  format: 'esm',
  target: 'node22',
  // With its types, because the package is private.
  dts: { resolve: ['@troupe/http', /^\./] },
  clean: true,
  noExternal: ['@troupe/http'],
  removeNodeProtocol: false,
})

import { defineConfig } from 'tsup'

export default defineConfig({
  entry: { index: 'src/index.ts', server: 'src/server/index.ts', 'server-node': 'src/server/node.ts' },
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
  removeNodeProtocol: false,
})

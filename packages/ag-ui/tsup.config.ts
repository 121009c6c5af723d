import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/client.ts', 'src/node.ts', 'src/verify.ts'],
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
  removeNodeProtocol: false,
})

import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/markdown.ts', 'src/node.ts'],
  format: 'esm',
  target: 'node22',
  dts: true,
  clean: true,
  removeNodeProtocol: false,
})

import { defineConfig } from 'tsup'

export default defineConfig({
  entry: ['src/index.ts', 'src/style.css'],
  format: 'esm',
  target: ['es2022', 'chrome111', 'firefox113', 'safari16.4'],
  // The style sheet has types too, because TypeScript asks for those of every import.
  dts: { entry: ['src/index.ts', 'src/style-module.ts'] },
  clean: true,
  // Frameworks with server components load it in the browser too.
  banner: { js: "'use client'" },
})

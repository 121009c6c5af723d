import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'tsup'
import { TEMPLATE_FILES } from './src/create-plugin.ts'

export default defineConfig({
  entry: ['src/main.ts'],
  format: 'esm',
  target: 'node20',
  clean: true,
  async onSuccess() {
    for (const file of TEMPLATE_FILES) cpSync(join('../../examples/handler-plugin', file), join('dist/template', file))
  },
})

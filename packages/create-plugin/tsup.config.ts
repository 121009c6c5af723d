import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'tsup'
import { TEMPLATE_FILES } from './src/create-plugin.ts'
import { KINDS } from './src/kind.ts'

export default defineConfig({
  entry: ['src/main.ts'],
  format: 'esm',
  target: 'node20',
  clean: true,
  async onSuccess() {
    for (const kind of KINDS) {
      for (const file of TEMPLATE_FILES) {
        cpSync(join(`../../examples/${kind}-plugin`, file), join('dist/templates', kind, file))
      }
    }
  },
})

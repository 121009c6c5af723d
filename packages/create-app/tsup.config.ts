import { cpSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { defineConfig } from 'tsup'
import { TEMPLATE_FILES } from '../create-plugin/src/create-plugin.ts'
import { KINDS } from '../create-plugin/src/kind.ts'
import { templatePaths, templatesIn } from './src/template.ts'

export default defineConfig({
  entry: ['src/main.ts'],
  format: 'esm',
  target: 'node20',
  clean: true,
  async onSuccess() {
    for (const { name, folder } of templatesIn('../../templates')) {
      for (const file of templatePaths(folder)) pack(join(folder, file), join('dist/templates', name, file))
    }
    for (const file of templatePaths('../../skills/troupe'))
      pack(join('../../skills/troupe', file), join('dist/skill', file))
    for (const kind of KINDS) {
      for (const file of TEMPLATE_FILES) {
        pack(join(`../../examples/${kind}-plugin`, file), join('dist/plugins', kind, file))
      }
    }
  },
})

function pack(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  cpSync(from, to)
}

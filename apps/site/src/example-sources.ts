/** Shows the files of an example below its README. */
import { globSync } from 'node:fs'
import { posix } from 'node:path'
import { read, root } from './repository.ts'

/** A longer file is a link in the README and no more. */
const MAX_LINES = 150

/** The programs of an example as Markdown, without their tests. */
export function exampleSources(folder: string): string {
  const files = globSync(`${folder}/src/**/*.{ts,tsx}`, { cwd: root, exclude: ['**/*.test.ts', '**/*.fixture.ts'] })
    .map((path) => path.replaceAll('\\', '/'))
    .sort(mainFirst)
  const shown = files
    .map((file) => [file, read(file).trimEnd()] as const)
    .filter(([, text]) => text.split('\n').length <= MAX_LINES)
  if (shown.length === 0) return ''
  const parts = shown.map(([file, text]) => `### ${posix.relative(folder, file)}\n\n\`\`\`ts\n${text}\n\`\`\``)
  return `\n\n## Its files\n\n${parts.join('\n\n')}\n`
}

function mainFirst(a: string, b: string): number {
  return Number(/\/(main|index)\.ts$/.test(b)) - Number(/\/(main|index)\.ts$/.test(a)) || a.localeCompare(b, 'en')
}

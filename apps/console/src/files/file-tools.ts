import { defineTool, type Tool } from '@troupe/kernel'
import type { Folder } from './folder.ts'

const MAX_LISTED = 200
const MAX_MATCHES = 20
const MAX_LINES = 200

const text = (description: string) => ({ type: 'string', description, minLength: 1 }) as const

/** Tools that read a folder and change nothing. */
export function fileTools(folder: Folder): readonly Tool[] {
  return [listFiles(folder), searchFiles(folder), readFile(folder)] as Tool[]
}

function listFiles(folder: Folder) {
  return defineTool({
    name: 'list_files',
    description: 'The files below a folder of the project.',
    parameters: { type: 'object', properties: { under: text('a folder, . for all') } },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ under = '.' }, ctx) {
      const paths: string[] = []
      for await (const path of folder.files(ctx.signal, under)) {
        if (paths.push(path) === MAX_LISTED) return `${paths.join('\n')}\n(there are more: name a subfolder)`
      }
      return paths.join('\n') || 'No files.'
    },
  })
}

function searchFiles(folder: Folder) {
  return defineTool({
    name: 'search_files',
    description: 'The lines of the project that contain a text, with file and line number.',
    parameters: {
      type: 'object',
      properties: { text: text('the text to search for') },
      required: ['text'],
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ text: wanted }, ctx) {
      const matches: string[] = []
      for await (const path of folder.files(ctx.signal)) {
        const lines = (await folder.read(path).catch(() => '')).split('\n')
        for (const [i, line] of lines.entries()) {
          if (!line.includes(wanted)) continue
          if (matches.push(`${path}:${i + 1}: ${line.trim().slice(0, 200)}`) === MAX_MATCHES) {
            return `${matches.join('\n')}\n(there are more: search for a longer text)`
          }
        }
      }
      return matches.join('\n') || `Nothing contains ${JSON.stringify(wanted)}.`
    },
  })
}

function readFile(folder: Folder) {
  return defineTool({
    name: 'read_file',
    description: `Lines of a file, ${MAX_LINES} at most.`,
    parameters: {
      type: 'object',
      properties: { path: text('a path from list_files'), from: { type: 'integer', minimum: 1 } },
      required: ['path'],
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ path, from = 1 }) {
      const lines = (await folder.read(path)).split('\n')
      const shown = lines.slice(from - 1, from - 1 + MAX_LINES)
      const left = lines.length - (from - 1) - shown.length
      return left > 0 ? `${shown.join('\n')}\n(${left} more lines)` : shown.join('\n')
    },
  })
}

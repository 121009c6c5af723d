import { defineTool, type Tool } from '@troupe/kernel'
import { ProjectFolder } from './project-folder.ts'

const MAX_LISTED = 200

const text = (description: string) => ({ type: 'string', description, minLength: 1 }) as const

/** The options of `fileTools`. */
export interface FileToolsOptions {
  /** The lines of one search. @default 20 */
  readonly maxMatches?: number
  /** The lines of one reading. @default 200 */
  readonly maxLines?: number
}

/** Makes the tools that read the text files of a folder and change nothing: `list_files`, `search_files` and `read_file`. */
export function fileTools(root: string, { maxMatches = 20, maxLines = 200 }: FileToolsOptions = {}): readonly Tool[] {
  const folder = new ProjectFolder(root)
  return [listFiles(folder), searchFiles(folder, maxMatches), readFile(folder, maxLines)] as Tool[]
}

function listFiles(folder: ProjectFolder) {
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

function searchFiles(folder: ProjectFolder, maxMatches: number) {
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
          if (matches.push(`${path}:${i + 1}: ${line.trim().slice(0, 200)}`) === maxMatches) {
            return `${matches.join('\n')}\n(there are more: search for a longer text)`
          }
        }
      }
      return matches.join('\n') || `Nothing contains ${JSON.stringify(wanted)}.`
    },
  })
}

function readFile(folder: ProjectFolder, maxLines: number) {
  return defineTool({
    name: 'read_file',
    description: `Lines of a file, ${maxLines} at most.`,
    parameters: {
      type: 'object',
      properties: { path: text('a path from list_files'), from: { type: 'integer', minimum: 1 } },
      required: ['path'],
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ path, from = 1 }) {
      const lines = (await folder.read(path)).split('\n')
      const shown = lines.slice(from - 1, from - 1 + maxLines)
      if (shown.length === 0) return 'The file has no such lines.'
      const left = lines.length - (from - 1) - shown.length
      return left > 0 ? `${shown.join('\n')}\n(${left} more lines)` : shown.join('\n')
    },
  })
}

import { glob, readFile, realpath, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { defineTool, KernelError, type Tool } from '@troupe/kernel'

const HIDDEN = /(^|\/)(\.|(node_modules|dist|coverage|artifacts)(\/|$))/
const MAX_BYTES = 256 * 1024
const MAX_FILES = 5_000
const MAX_MATCHES = 12
const MAX_LINES = 40

/**
 * Tools that search and read the text files of one folder.
 * Contract: never reads outside it, whatever a path says or a link points to, and never reads hidden files.
 */
export function projectFileTools(folder: string): readonly Tool[] {
  return [searchFiles(folder), readProjectFile(folder)] as Tool[]
}

function searchFiles(folder: string) {
  return defineTool({
    name: 'search_files',
    description: 'The lines of the project that contain a text, with file and line number.',
    parameters: { type: 'object', properties: { text: { type: 'string', minLength: 2 } }, required: ['text'] },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ text }, { signal }) {
      const matches: string[] = []
      const isHidden = (path: unknown) => HIDDEN.test(pathOf(path))
      const paths = await Array.fromAsync(glob('**/*.{ts,tsx,md,json,mjs,css}', { cwd: folder, exclude: isHidden }))
      for (const path of paths.sort().slice(0, MAX_FILES)) {
        signal.throwIfAborted()
        const lines = (await textOfFile(folder, path).catch(() => '')).split('\n')
        for (const [i, line] of lines.entries()) {
          if (line.includes(text)) matches.push(`${pathOf(path)}:${i + 1}: ${line.trim().slice(0, 160)}`)
        }
        if (matches.length >= MAX_MATCHES) break
      }
      if (matches.length === 0) return `Nothing contains ${JSON.stringify(text)}.`
      return matches.slice(0, MAX_MATCHES).join('\n')
    },
  })
}

function readProjectFile(folder: string) {
  return defineTool({
    name: 'read_file',
    description: `Lines of a file of the project, ${MAX_LINES} at most.`,
    parameters: {
      type: 'object',
      properties: { path: { type: 'string', minLength: 1 }, from: { type: 'integer', minimum: 1 } },
      required: ['path'],
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ path, from = 1 }) {
      const lines = (await textOfFile(folder, path)).split('\n')
      return lines.slice(from - 1, from - 1 + MAX_LINES).join('\n') || 'The file has no such lines.'
    },
  })
}

async function textOfFile(folder: string, path: string): Promise<string> {
  const root = await realpath(folder)
  const full = resolve(root, path)
  const real = within(root, full) ? await realpath(full).catch(() => undefined) : undefined
  if (real === undefined || !within(root, real) || HIDDEN.test(pathOf(relative(root, real)))) {
    throw new KernelError('TOOL_FAILED', `read_file: ${JSON.stringify(path)} is not a file of the project`)
  }
  if ((await stat(real)).size > MAX_BYTES) throw new KernelError('TOOL_FAILED', `read_file: ${path} is too long`)
  return readFile(real, 'utf8')
}

function within(root: string, path: string): boolean {
  return path.startsWith(join(root, sep))
}

function pathOf(path: unknown): string {
  return String(path).split(sep).join('/')
}

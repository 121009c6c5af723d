import { KernelError } from '@troupe/kernel'
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml'
import { isPlain } from '../define/config-error.ts'
import { type AgentDefinition, type AgentOptions, defineAgent } from '../define/define-agent.ts'

/**
 * Reads an agent from Markdown: the options of `defineAgent` as YAML between two lines of `---`, then the prompt.
 * Contract: throws `SUBAGENT_FILE_INVALID` with file and line for any mistake, unknown keys included.
 * @example const agent = parseAgent(text, 'agents/investigator.md')
 */
export function parseAgent(text: string, file: string): AgentDefinition {
  const { yaml, body, bodyLine } = split(text, file)
  const lines = new LineCounter()
  const document = parseDocument(yaml, { lineCounter: lines, prettyErrors: false })
  const [problem] = [...document.errors, ...document.warnings]
  // The front matter begins on the second line of the file.
  const lineAt = (offset: number) => lines.linePos(offset).line + 1
  if (problem) throw invalid(file, lineAt(problem.pos[0]), problem.message, problem)
  const options = document.contents === null ? {} : frontMatter(document, file)
  if ('prompt' in options) {
    throw invalid(
      file,
      lineAt(offsetOf(document.contents, ['prompt'])),
      'write the prompt below the front matter, not in it',
    )
  }
  try {
    return defineAgent({ ...options, prompt: body } as unknown as AgentOptions)
  } catch (cause) {
    const { message, details } = KernelError.from(cause)
    const path = Array.isArray(details.path) ? details.path.map(String) : []
    const line = path[0] === 'prompt' ? bodyLine + linesIn(body, details.at) : lineAt(offsetOf(document.contents, path))
    throw invalid(file, line, message, cause)
  }
}

function frontMatter(document: Document, file: string): Record<string, unknown> {
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: 20 })
  } catch (cause) {
    throw invalid(file, 2, KernelError.from(cause).message, cause)
  }
  if (!isPlain(value)) throw invalid(file, 2, 'the front matter must be a list of keys and values')
  return value as Record<string, unknown>
}

function split(
  text: string,
  file: string,
): { readonly yaml: string; readonly body: string; readonly bodyLine: number } {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const end = lines.findIndex((line, i) => i > 0 && line.trimEnd() === '---')
  if (lines[0]?.trimEnd() !== '---')
    throw invalid(file, 1, 'the file must begin with a line of ---, then its front matter')
  if (end === -1) throw invalid(file, lines.length, 'the front matter must end with a line of ---')
  const body = lines.slice(end + 1)
  const first = body.findIndex((line) => line.trim() !== '')
  return { yaml: lines.slice(1, end).join('\n'), body: body.join('\n').trim(), bodyLine: end + 2 + Math.max(0, first) }
}

/** Counts the lines of a text that end before an offset. */
function linesIn(text: string, at: unknown): number {
  return text.slice(0, typeof at === 'number' ? at : 0).split('\n').length - 1
}

/** Finds the offset of a key, or of its deepest ancestor that exists. */
function offsetOf(root: unknown, path: readonly string[]): number {
  let node: unknown = root
  let offset = (root as Node | null)?.range?.[0] ?? 0
  for (const key of path) {
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === key)
      if (!pair) break
      offset = (pair.key as Node).range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(key)]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    } else break
  }
  return offset
}

function invalid(file: string, line: number, message: string, cause?: unknown): KernelError {
  return new KernelError('SUBAGENT_FILE_INVALID', `${file}:${line}: ${message}`, {
    ...(cause !== undefined && { cause }),
    details: { file, line },
  })
}

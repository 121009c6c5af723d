import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KernelError } from '@troupe/kernel'
import type { AgentDefinition } from '../define/define-agent.ts'
import type { LoadedAgents } from './agent-registry.ts'
import { parseAgent } from './parse-agent.ts'

/**
 * Reads the Markdown files of a folder, in the order of their names.
 * Contract: one bad file does not stop the others; a folder that cannot be read gives one error.
 * @example registry.registerLoaded(await loadAgents('agents'))
 */
export async function loadAgents(folder: string): Promise<LoadedAgents> {
  const definitions: AgentDefinition[] = []
  const errors: KernelError[] = []
  const unreadable = (path: string, cause: unknown) => {
    const message = `${path}: cannot be read, ${KernelError.from(cause).message}`
    errors.push(new KernelError('SUBAGENT_FILE_INVALID', message, { cause, details: { file: path } }))
  }
  let files: readonly string[] = []
  try {
    files = (await readdir(folder)).filter((file) => file.endsWith('.md')).sort()
  } catch (cause) {
    unreadable(folder, cause)
  }
  for (const file of files) {
    const path = join(folder, file)
    let text: string
    try {
      text = await readFile(path, 'utf8')
    } catch (cause) {
      unreadable(path, cause)
      continue
    }
    try {
      definitions.push(parseAgent(text, path))
    } catch (error) {
      errors.push(KernelError.from(error, 'SUBAGENT_FILE_INVALID'))
    }
  }
  return { definitions, errors }
}

import { appendFile, readFile } from 'node:fs/promises'
import { defineTool, type Tool } from '@troupe/kernel'

/** Tools that keep notes in a file. Writing asks the user first. */
export function notesTools(file: string): readonly Tool[] {
  const readNotes = defineTool({
    name: 'read_notes',
    description: 'All notes of the user.',
    parameters: { type: 'object' },
    kind: 'read',
    effect: 'pure',
    invoke: async () => (await textOf(file)) || 'There are no notes.',
  })
  const saveNote = defineTool({
    name: 'save_note',
    description: 'Keeps a note for the user.',
    parameters: {
      type: 'object',
      properties: { note: { type: 'string', description: 'one line' } },
      required: ['note'],
    },
    kind: 'write',
    needsApproval: () => true,
    async invoke({ note }) {
      await appendFile(file, `- ${note}\n`)
      return `Noted: ${note}`
    },
  })
  return [readNotes, saveNote as Tool]
}

async function textOf(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw error
  }
}

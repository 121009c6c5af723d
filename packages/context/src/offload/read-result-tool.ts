import { defineTool, KernelError, type RunContext, type Tool } from '@troupe/kernel'

/** The name of the tool that reads parts of results. */
export const READ_RESULT = 'read_result'

const MOST_MATCHES = 10
const AROUND = 150
/** Characters of the longest note at the end of what is read. */
const LONGEST_NOTE = 60

/** The tool with which a model reads parts of results that are kept outside of its history. */
export function readResultTool(
  get: (ctx: RunContext, id: string) => Promise<string | undefined>,
  maxChars: number,
): Tool {
  return defineTool({
    name: READ_RESULT,
    description: `Reads a part of a large tool result: at most ${maxChars} characters, beginning at from (the first character is 0). With find: the places where a text occurs, whatever its case.`,
    parameters: {
      type: 'object',
      properties: { id: { type: 'string' }, from: { type: 'integer', minimum: 0 }, find: { type: 'string' } },
      required: ['id'],
    },
    kind: 'read',
    effect: 'idempotent',
    async invoke({ id, from = 0, find }, ctx) {
      const text = await get(ctx, id)
      if (text === undefined) {
        throw new KernelError(
          'NOT_FOUND',
          `${READ_RESULT}: there is no result ${JSON.stringify(id)}; use the id that its beginning names`,
        )
      }
      if (find !== undefined && find !== '') return matches(text, find, from, maxChars)
      return from < text.length ? page(text, from, maxChars) : `The result has ${text.length} characters.`
    },
  }) as Tool
}

/** A part of a text, and where it goes on. Contract: with its note no longer than `maxChars`, so that nothing shortens it again. */
function page(text: string, from: number, maxChars: number): string {
  if (text.length - from <= maxChars) return text.slice(from)
  const end = from + Math.max(1, maxChars - LONGEST_NOTE)
  return text.slice(from, end) + restNote(text.length, end)
}

function restNote(length: number, from: number): string {
  return `\n[${length - from} characters follow, from ${from} on.]`
}

/** The places where a text occurs, with what is around them. Contract: no longer than `maxChars`. */
function matches(text: string, find: string, from: number, maxChars: number): string {
  // Lower case may be longer than the text itself; then only what is equal is found.
  const lower = text.toLowerCase()
  const [hay, needle] = lower.length === text.length ? [lower, find.toLowerCase()] : [text, find]
  const found: string[] = []
  let room = Math.max(1, maxChars - LONGEST_NOTE)
  let at = hay.indexOf(needle, from)
  while (at >= 0 && found.length < MOST_MATCHES) {
    const start = Math.max(0, at - AROUND)
    const match = `at ${at}: …${text.slice(start, at + needle.length + AROUND)}…`
    if (found.length > 0 && match.length > room) break
    found.push(match.slice(0, room))
    room -= match.length + 2
    at = hay.indexOf(needle, at + needle.length)
  }
  if (found.length === 0) return `${JSON.stringify(find)} does not occur${from > 0 ? ` from ${from} on` : ''}.`
  return found.join('\n\n') + (at >= 0 ? `\n\n[There are more, from ${at} on.]` : '')
}

import { defineTool, KernelError, type RunContext, type Tool } from '@troupe/kernel'

/** The name of the tool that reads parts of results. */
export const READ_RESULT = 'read_result'

const MOST_MATCHES = 10
const AROUND = 150

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
      if (find !== undefined && find !== '') return matches(text, find, from)
      const part = text.slice(from, from + maxChars)
      const end = from + part.length
      const rest = end < text.length ? `\n[${text.length - end} characters follow, from ${end} on.]` : ''
      return part === '' ? `The result has ${text.length} characters.` : part + rest
    },
  }) as Tool
}

/** The places where a text occurs, with what is around them. */
function matches(text: string, find: string, from: number): string {
  // Lower case may be longer than the text itself; then only what is equal is found.
  const lower = text.toLowerCase()
  const [hay, needle] = lower.length === text.length ? [lower, find.toLowerCase()] : [text, find]
  const found: string[] = []
  let at = hay.indexOf(needle, from)
  while (at >= 0 && found.length < MOST_MATCHES) {
    const start = Math.max(0, at - AROUND)
    found.push(`at ${at}: …${text.slice(start, at + needle.length + AROUND)}…`)
    at = hay.indexOf(needle, at + needle.length)
  }
  if (found.length === 0) return `${JSON.stringify(find)} does not occur${from > 0 ? ` from ${from} on` : ''}.`
  return found.join('\n\n') + (at >= 0 ? `\n\n[There are more, from ${at} on.]` : '')
}

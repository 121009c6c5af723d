import { defineTool, type Json, type Tool } from '@troupe/kernel'

/** The key of the sent postcards in the state of a conversation. */
const POSTCARDS = 'postcards'

/** Sends a postcard. This cannot be undone, so the policy asks first: its kind is `write`. */
export function postcardTool(): Tool {
  const text = (description: string) => ({ type: 'string', description, minLength: 1, maxLength: 400 }) as const
  return defineTool({
    name: 'send_postcard',
    description: 'Sends a postcard. It cannot be taken back.',
    parameters: {
      type: 'object',
      properties: { to: text('who gets it'), place: text('where it is sent from'), text: text('what it says') },
      required: ['to', 'place', 'text'],
    },
    kind: 'write',
    effect: 'once',
    invoke({ to, place, text }, ctx) {
      const sent = ctx.state.get(POSTCARDS)
      ctx.state.set(POSTCARDS, [...(Array.isArray(sent) ? (sent as Json[]) : []), { to, place, text }])
      return { content: `The postcard to ${to} is in the post.`, data: { to, place, text } }
    },
  }) as Tool
}

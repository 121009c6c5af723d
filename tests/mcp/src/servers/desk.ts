/** The server that most tests talk to. */
import { appendFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

const ANSWER = z.object({ name: z.string(), title: z.string().default('Dr.') })
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Makes the server; each line that `note_once` writes goes into the file. */
export function deskServer(file?: string): McpServer {
  const server = new McpServer({ name: 'desk', version: '1.0.0' }, { instructions: 'Say please.' })
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
  const note = (line: string) => {
    if (file !== undefined) appendFileSync(file, `${line}\n`)
  }
  server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ text: z.string() }), annotations: { readOnlyHint: true } },
    ({ text: said }) => text(said),
  )
  server.registerTool(
    'add',
    {
      description: 'Adds two numbers.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  )
  server.registerTool('fail', { description: 'Fails.', inputSchema: z.object({}) }, () => ({
    ...text('out of paper'),
    isError: true,
  }))
  server.registerTool('media', { description: 'Shows media.', inputSchema: z.object({}) }, () => ({
    content: [
      { type: 'text', text: 'Look:' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'desk://a', text: 'inside', mimeType: 'text/plain' } },
      { type: 'resource', resource: { uri: 'desk://b', blob: 'AAEC', mimeType: 'application/zip' } },
      { type: 'resource_link', uri: 'desk://c', name: 'the rest' },
    ],
  }))
  server.registerTool(
    'count',
    { description: 'Counts.', inputSchema: z.object({ to: z.number() }) },
    async ({ to }, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken
      for (let progress = 1; progress <= to && progressToken !== undefined; progress++) {
        await ctx.mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: to, message: `at ${progress}` },
        })
      }
      // So that the result does not come in the same piece as the progress before it.
      await setTimeout(100)
      return text('done')
    },
  )
  server.registerTool('wait', { description: 'Never answers.', inputSchema: z.object({}) }, (_args, ctx) => {
    note('wait begins')
    return new Promise((_resolve, reject) => {
      ctx.mcpReq.signal.addEventListener('abort', () => {
        note('wait cancelled')
        reject(new Error('cancelled'))
      })
    })
  })
  server.registerTool(
    'note_once',
    { description: 'Writes a line.', inputSchema: z.object({ id: z.string() }) },
    ({ id }) => {
      note(`noted ${id}`)
      return text('noted')
    },
  )
  server.registerTool('crash', { description: 'Ends the process.', inputSchema: z.object({}) }, () => {
    note('crash')
    process.exit(1)
  })
  server.registerTool(
    'book',
    { description: 'Books a table.', inputSchema: z.object({ people: z.number() }) },
    ({ people }, ctx) => {
      const answer = acceptedContent(ctx.mcpReq.inputResponses, 'who', ANSWER)
      if (!answer && Object.keys(ctx.mcpReq.inputResponses ?? {}).length > 0) return text('Not booked.')
      if (answer) {
        note(`booked for ${answer.name}`)
        return text(`A table for ${people}, for ${answer.title} ${answer.name}.`)
      }
      note('asked')
      return inputRequired({
        inputRequests: { who: inputRequired.elicit({ message: `Who comes, of ${people}?`, requestedSchema: ANSWER }) },
        requestState: `people=${people}`,
      })
    },
  )
  server.registerTool('sum_up', { description: 'Asks a model.', inputSchema: z.object({}) }, (_args, ctx) => {
    const { brief } = (ctx.mcpReq.inputResponses ?? {}) as {
      readonly brief?: { readonly content: { readonly text: string } }
    }
    if (brief) return text(`The model says: ${brief.content.text}`)
    return inputRequired({
      inputRequests: {
        brief: inputRequired.createMessage({
          messages: [{ role: 'user', content: { type: 'text', text: 'Sum up.' } }],
          maxTokens: 100,
        }),
      },
    })
  })
  server.registerResource('menu', 'desk://menu', { mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, text: 'Soup and bread.' }],
  }))
  server.registerPrompt(
    'greet',
    { description: 'Greets.', argsSchema: z.object({ name: z.string() }) },
    ({ name }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Greet ${name}.` } }],
    }),
  )
  return server
}

import {
  acceptedContent,
  completable,
  inputRequired,
  type McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { PNG } from './troupe-tools.ts'

/** What the suite expects beyond agents and their tools, as an app adds it with the SDK: resources, prompts, and tools that ask the client's model or log. */
export function sdkParts(server: McpServer): void {
  server.server.registerCapabilities({
    logging: {},
    prompts: { listChanged: false },
    resources: { subscribe: true, listChanged: false },
  })
  resources(server)
  prompts(server)
  tools(server)
}

function resources(server: McpServer): void {
  const text = { mimeType: 'text/plain', description: 'Static text.' }
  server.registerResource('static-text', 'test://static-text', text, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is the content of the static text resource.' }],
  }))
  server.registerResource(
    'static-binary',
    'test://static-binary',
    { mimeType: 'image/png', description: 'A pixel.' },
    ({ href: uri }) => ({
      contents: [{ uri, mimeType: 'image/png', blob: PNG }],
    }),
  )
  server.registerResource('watched', 'test://watched-resource', text, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'Watched.' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource(
    'template',
    template,
    { mimeType: 'application/json', description: 'By id.' },
    ({ href: uri }, { id }) => ({
      contents: [
        {
          uri,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  )
  server.server.setRequestHandler('resources/subscribe', () => ({}))
  server.server.setRequestHandler('resources/unsubscribe', () => ({}))
}

function prompts(server: McpServer): void {
  const said = (text: string) => ({ role: 'user' as const, content: { type: 'text' as const, text } })
  server.registerPrompt('test_simple_prompt', { description: 'Simple.' }, () => ({
    messages: [said('This is a simple prompt for testing.')],
  }))
  const argsSchema = z.object({
    arg1: completable(z.string(), (value) => [`${value}1`, `${value}2`]),
    arg2: z.string(),
  })
  server.registerPrompt(
    'test_prompt_with_arguments',
    { description: 'With arguments.', argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [said(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
    }),
  )
  const uriSchema = z.object({ resourceUri: z.string() })
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    { description: 'With a resource.', argsSchema: uriSchema },
    ({ resourceUri: uri }) => ({
      messages: [
        { role: 'user', content: { type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded.' } } },
        said('Process it.'),
      ],
    }),
  )
  server.registerPrompt('test_prompt_with_image', { description: 'With an image.' }, () => ({
    messages: [{ role: 'user', content: { type: 'image', data: PNG, mimeType: 'image/png' } }, said('Analyze it.')],
  }))
  server.registerPrompt('test_input_required_result_prompt', { description: 'Asks first.' }, (ctx) => {
    const given = acceptedContent<{ context: string }>(ctx.mcpReq.inputResponses, 'user_context')
    if (given) return { messages: [said(`In the context ${given.context}`)] }
    const requestedSchema = {
      type: 'object' as const,
      properties: { context: { type: 'string' as const } },
      required: ['context'],
    }
    const user_context = inputRequired.elicit({ message: 'What context should the prompt use?', requestedSchema })
    return inputRequired({ inputRequests: { user_context } })
  })
}

function tools(server: McpServer): void {
  const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
  const sampling = (text: string) =>
    inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 })
  const responses = (ctx: ServerContext) => ctx.mcpReq.inputResponses ?? {}

  for (const name of ['test_tool_with_logging', 'test_logging_tool']) {
    server.registerTool(name, { description: 'Logs.' }, async (ctx) => {
      for (const line of ['started', 'processing', 'completed']) await ctx.mcpReq.log('info', `Tool execution ${line}`)
      return said('logged')
    })
  }
  server.registerTool(
    'test_sampling',
    { description: 'Asks the model.', inputSchema: z.object({ prompt: z.string() }) },
    ({ prompt }, ctx) => {
      const { answer } = responses(ctx)
      return answer
        ? said(`LLM response: ${JSON.stringify(answer)}`)
        : inputRequired({ inputRequests: { answer: sampling(prompt) } })
    },
  )
  server.registerTool('test_input_required_result_sampling', { description: 'Asks the model.' }, (ctx) => {
    const { capital_question } = responses(ctx)
    if (capital_question) return said(JSON.stringify(capital_question))
    return inputRequired({ inputRequests: { capital_question: sampling('What is the capital of France?') } })
  })
  server.registerTool('test_input_required_result_list_roots', { description: 'Asks for roots.' }, (ctx) => {
    const { client_roots } = responses(ctx)
    if (client_roots) return said(JSON.stringify(client_roots))
    return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } })
  })
  server.registerTool('test_input_required_result_multiple_inputs', { description: 'Asks for all at once.' }, (ctx) => {
    const { user_name, greeting, client_roots } = responses(ctx)
    if (user_name && greeting && client_roots) return said(JSON.stringify([user_name, greeting, client_roots]))
    const requestedSchema = {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    }
    const inputRequests = {
      user_name: inputRequired.elicit({ message: 'What is your name?', requestedSchema }),
      greeting: sampling('Generate a greeting'),
      client_roots: inputRequired.listRoots(),
    }
    return inputRequired({ inputRequests, requestState: 'three questions' })
  })
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks what the client can do.' },
    () => {
      const can = server.server.getClientCapabilities() ?? {}
      return inputRequired({
        inputRequests: can.sampling ? { greeting: sampling('Generate a greeting') } : {},
        requestState: 'capabilities',
      })
    },
  )
  server.registerTool('test_missing_capability', { description: 'Needs sampling.' }, () =>
    inputRequired({ inputRequests: { greeting: sampling('Generate a greeting') } }),
  )
  server.registerTool('test_streaming_elicitation', { description: 'Asks while it streams.' }, (ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, 'name')
    if (given) return said(JSON.stringify(given))
    const requestedSchema = {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    }
    return inputRequired({ inputRequests: { name: inputRequired.elicit({ message: 'Who?', requestedSchema }) } })
  })
}

import { chatModelAgent } from '@troupe/chat-model'
import { type Agent, defineTool, type KernelError } from '@troupe/kernel'
import { scriptedModel } from '@troupe/testkit'
import { describe, expect, it } from 'vitest'
import { add, calling, echo, GENERATIONS, served } from './served.fixture.ts'

const text = (result: { readonly content?: unknown }) =>
  (result.content as readonly { readonly text?: string }[]).map((block) => block.text)

describe.each(GENERATIONS)('calls over HTTP, %s', (generation) => {
  it('lists agents and tools with their schemas', async () => {
    await using app = await served({ agents: [echo()], tools: [add] })
    const client = await app.connect(generation)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'add'])
    expect(tools[0]?.inputSchema.required).toEqual(['message'])
    expect(tools[1]).toMatchObject({ inputSchema: { required: ['a', 'b'] }, annotations: { readOnlyHint: true } })
  })

  it('an agent answers, and the conversation goes on by its thread', async () => {
    await using app = await served({ agents: [echo()] })
    const client = await app.connect(generation)
    const first = await client.callTool({ name: 'echo', arguments: { message: 'Hi' } })
    expect(text(first)[0]).toBe('1: "Hi"')
    const thread = first._meta?.['troupe/thread']
    expect(text(first)[1]).toBe(`thread: ${thread}`)
    const second = await client.callTool({ name: 'echo', arguments: { message: 'Again', thread } })
    expect(text(second)[0]).toBe('2: "Again"')
  })

  it('an unknown thread is an error of the tool', async () => {
    await using app = await served({ agents: [echo()] })
    const client = await app.connect(generation)
    const result = await client.callTool({ name: 'echo', arguments: { message: 'Hi', thread: 'nope' } })
    expect(result.isError).toBe(true)
    expect(text(result)[0]).toContain('NOT_FOUND')
  })

  it('a tool gives data, and its failures are errors with its own text', async () => {
    const failing = defineTool({
      name: 'failing',
      description: 'Fails.',
      parameters: { type: 'object' },
      invoke() {
        throw new Error('out of paper')
      },
    })
    await using app = await served({ tools: [add, failing] })
    const client = await app.connect(generation)
    const sum = await client.callTool({ name: 'add', arguments: { a: 2, b: 3 } })
    expect(sum).toMatchObject({ structuredContent: { sum: 5 }, content: [{ type: 'text', text: '{"sum":5}' }] })
    const failure = await client.callTool({ name: 'failing', arguments: {} })
    expect(failure).toMatchObject({ isError: true, content: [{ text: 'out of paper' }] })
    const wrong = await client.callTool({ name: 'add', arguments: { a: 'two', b: 3 } })
    expect(wrong.isError).toBe(true)
    expect(text(wrong)[0]).toContain('arguments are not valid')
  })

  it('tells what an agent says and does, if the client asks for progress', async () => {
    await using app = await served({ agents: [calling(add, { a: 1, b: 2 })] })
    const client = await app.connect(generation)
    const seen: (string | undefined)[] = []
    const onprogress = ({ message }: { message?: string | undefined }) => void seen.push(message)
    const result = await client.callTool({ name: 'host', arguments: { message: 'Add' } }, { onprogress })
    expect(seen).toEqual(['host calls add', 'It said: "{\\"sum\\":3}"'])
    expect(text(result)[0]).toBe('It said: "{\\"sum\\":3}"')
  })

  it('structured output is structured content, with its schema', async () => {
    const output = { type: 'object', properties: { celsius: { type: 'number' } }, required: ['celsius'] } as const
    const weather = chatModelAgent({
      name: 'weather',
      description: 'Knows the weather.',
      output,
      model: scriptedModel(['{"celsius": 21}'], { repeat: true }),
    })
    await using app = await served({ agents: [weather], outputs: { weather: output } })
    const client = await app.connect(generation)
    const { tools } = await client.listTools()
    expect(tools[0]?.outputSchema).toMatchObject(output)
    const result = await client.callTool({ name: 'weather', arguments: { message: 'How warm is it?' } })
    expect(result.structuredContent).toEqual({ celsius: 21 })
    expect(text(result)[0]).toBe('{"celsius": 21}')
  })

  it('an error of an agent has a code, and its own text goes to report', async () => {
    const reported: string[] = []
    const agent: Agent = {
      name: 'broken',
      description: '',
      async *run() {
        yield { type: 'custom', name: 'x', data: 1 }
        throw new Error('password=1234')
      },
    }
    const report = ({ message }: KernelError) => void reported.push(message)
    await using app = await served({ agents: [agent], report })
    const client = await app.connect(generation)
    const result = await client.callTool({ name: 'broken', arguments: { message: 'Hi' } })
    expect(result).toMatchObject({ isError: true, content: [{ text: 'AGENT_ERROR: The agent failed.' }, {}] })
    expect(reported).toEqual([expect.stringContaining('password=1234')])
  })

  it('an unknown tool is an error of the protocol', async () => {
    await using app = await served({ agents: [echo()] })
    const client = await app.connect(generation)
    await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toMatchObject({ code: -32_602 })
  })
})

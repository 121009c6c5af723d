import { defineTool, type JsonSchema, type Tool, type ToolOutput } from '@troupe/kernel'

/** A red pixel and an empty sound. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='
const NOTHING = { type: 'object', properties: {} } as const

const image = { type: 'file', mediaType: 'image/png', data: PNG } as const
const json = {
  type: 'file',
  mediaType: 'application/json',
  name: 'test://mixed-content-resource',
  data: btoa('{"test":"data"}'),
} as const
const note = {
  type: 'file',
  mediaType: 'text/plain',
  name: 'test://embedded-resource',
  data: btoa('This is an embedded resource content.'),
} as const

function saying(name: string, output: ToolOutput): Tool {
  return defineTool({ name, description: `Gives ${name}.`, parameters: NOTHING, kind: 'read', invoke: () => output })
}

/** Asks one question after the other, each with a key, and says what was answered. */
function asking(
  name: string,
  questions: readonly (readonly [key: string, message: string, schema: JsonSchema])[],
): Tool {
  return defineTool({
    name,
    description: `Asks for ${name}.`,
    parameters: NOTHING,
    async invoke(_, ctx) {
      const answers: unknown[] = []
      for (const [key, message, responseSchema] of questions) {
        answers.push(await ctx.interrupt({ reason: 'input', key, message, responseSchema }))
      }
      return `state-ok ${JSON.stringify(answers)}`
    },
  })
}

const fields = (properties: JsonSchema, required: readonly string[] = Object.keys(properties)): JsonSchema => ({
  type: 'object',
  properties,
  required,
})
const text = { type: 'string' }
const name = fields({ name: text })

/** The tools that the suite expects of a server, as far as an agent framework has a word for what they do. */
export const troupeTools: readonly Tool[] = [
  saying('test_simple_text', 'This is a simple text response for testing.'),
  saying('test_image_content', { content: [image] }),
  saying('test_audio_content', { content: [{ type: 'file', mediaType: 'audio/wav', data: WAV }] }),
  saying('test_embedded_resource', { content: [note] }),
  saying('test_multiple_content_types', {
    content: [{ type: 'text', text: 'Multiple content types test:' }, image, json],
  }),
  defineTool({
    name: 'test_error_handling',
    description: 'Fails.',
    parameters: NOTHING,
    invoke() {
      throw new Error('This tool intentionally returns an error for testing')
    },
  }),
  defineTool({
    name: 'test_tool_with_progress',
    description: 'Tells how far it is.',
    parameters: NOTHING,
    async *stream() {
      yield 'a third'
      yield 'two thirds'
      yield 'all'
    },
  }),
  defineTool({
    name: 'test_elicitation',
    description: 'Asks who you are.',
    parameters: fields({ message: text }),
    async invoke(args, ctx) {
      const { message } = args as { readonly message: string }
      const responseSchema = fields({ username: text, email: text })
      return `User response: ${JSON.stringify(await ctx.interrupt({ reason: 'input', message, responseSchema }))}`
    },
  }),
  asking('test_elicitation_sep1034_defaults', [
    [
      'all',
      'Check the values.',
      fields(
        {
          name: { type: 'string', default: 'John Doe' },
          age: { type: 'integer', default: 30 },
          score: { type: 'number', default: 95.5 },
          status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
          verified: { type: 'boolean', default: true },
        },
        [],
      ),
    ],
  ]),
  asking('test_elicitation_sep1330_enums', [
    [
      'all',
      'Choose.',
      fields(
        {
          untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
          titledSingle: { type: 'string', oneOf: titled('value', 'Option') },
          legacyEnum: {
            type: 'string',
            enum: ['opt1', 'opt2', 'opt3'],
            enumNames: ['Option One', 'Option Two', 'Option Three'],
          },
          untitledMulti: { type: 'array', items: { type: 'string', enum: ['option1', 'option2', 'option3'] } },
          titledMulti: { type: 'array', items: { anyOf: titled('value', 'Choice') } },
        },
        [],
      ),
    ],
  ]),
  asking('test_input_required_result_elicitation', [['user_name', 'What is your name?', name]]),
  asking('test_input_required_result_request_state', [
    ['confirm', 'Please confirm', fields({ ok: { type: 'boolean' } })],
  ]),
  asking('test_input_required_result_tampered_state', [
    ['confirm', 'Please confirm', fields({ ok: { type: 'boolean' } })],
  ]),
  asking('test_input_required_result_multi_round', [
    ['step1', 'Step 1: What is your name?', name],
    ['step2', 'Step 2: What is your favorite color?', fields({ color: text })],
  ]),
  defineTool({
    name: 'json_schema_2020_12_tool',
    description: 'Has a schema with everything.',
    parameters: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: { address: { $anchor: 'addressDef', type: 'object', properties: { street: text, city: text } } },
      properties: {
        name: text,
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: text,
        email: text,
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    invoke: (args) => JSON.stringify(args),
  }),
]

function titled(value: string, title: string): { const: string; title: string }[] {
  return [1, 2, 3].map((i) => ({ const: `${value}${i}`, title: `${title} ${i}` }))
}

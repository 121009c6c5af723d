/** A question of an MCP server: a text, and the fields of its form. */
export interface Question {
  readonly message: string
  readonly requestedSchema?: {
    readonly properties?: Readonly<Record<string, Field>>
    readonly required?: readonly string[] | undefined
  }
}

interface Field {
  readonly type?: unknown
  readonly title?: unknown
}

type Answer = string | number | boolean

/** Asks a person for each field that a question needs. Gives nothing if the person has left. */
export async function answersFor(
  { message, requestedSchema = {} }: Question,
  ask: (question: string) => Promise<string | undefined>,
): Promise<Record<string, Answer> | undefined> {
  const { properties = {}, required = Object.keys(properties) } = requestedSchema
  const answers: Record<string, Answer> = {}
  for (const name of required) {
    const { type, title = name } = properties[name] ?? {}
    const said = await ask(`? ${message} ${title}${type === 'boolean' ? ' [y/n]' : ':'} `)
    if (said === undefined) return undefined
    answers[name] = answerOf(type, said)
  }
  return answers
}

function answerOf(type: unknown, said: string): Answer {
  if (type === 'boolean') return /^\s*y/i.test(said)
  return type === 'number' || type === 'integer' ? Number(said) : said
}

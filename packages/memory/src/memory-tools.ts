import { defineTool, type Fact, type Owner, type Tool } from '@troupe/kernel'

/** What the tools do. */
interface Actions {
  remember(owner: Owner, text: string, at: number): Promise<Fact>
  recall(owner: Owner, text: string): Promise<readonly Fact[]>
  forget(owner: Owner, seqs: readonly number[]): Promise<number>
}

/** The tools by which a model remembers, recalls and forgets what concerns its user. */
export function memoryTools({ remember, recall, forget }: Actions): readonly Tool[] {
  return [
    defineTool({
      name: 'remember',
      description:
        'Notes one fact about the user for later conversations, such as a preference or a name. Write it as a sentence that makes sense alone.',
      parameters: {
        type: 'object',
        properties: { fact: { type: 'string', minLength: 1, maxLength: 1000 } },
        required: ['fact'],
      },
      kind: 'write',
      // A text is noted once.
      effect: 'idempotent',
      async invoke({ fact }, { session, clock }) {
        const { seq } = await remember(session, fact, clock.now())
        return `Noted as number ${seq}.`
      },
    }) as Tool,
    defineTool({
      name: 'recall',
      description: 'Finds what was noted about the user in earlier conversations, each fact with its number.',
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
      kind: 'read',
      // What is known may change between two calls.
      effect: 'idempotent',
      async invoke({ query }, { session }) {
        const facts = await recall(session, query)
        if (facts.length === 0) return 'Nothing is noted about that.'
        return facts.map(({ seq, text }) => `${seq}: ${text}`).join('\n')
      },
    }) as Tool,
    defineTool({
      name: 'forget',
      description: 'Forgets noted facts by their numbers, because they are wrong or the user asks for it.',
      parameters: {
        type: 'object',
        properties: { numbers: { type: 'array', items: { type: 'integer' }, minItems: 1, maxItems: 100 } },
        required: ['numbers'],
      },
      kind: 'write',
      effect: 'idempotent',
      async invoke({ numbers }, { session }) {
        const forgotten = await forget(session, numbers)
        return forgotten === 1 ? 'Forgot 1 fact.' : `Forgot ${forgotten} facts.`
      },
    }) as Tool,
  ]
}

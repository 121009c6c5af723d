import { type Agent, type Message, say, textOf } from '@troupe/kernel'
import { checkOption } from '@troupe/kernel/kit'

/** What the agent knows, and what it says if nobody does. */
export interface FrontDeskOptions {
  /** @default 'front-desk' */
  readonly name?: string
  /** Answers by the words that ask for them; the first that fits is given. */
  readonly answers: readonly { readonly words: readonly string[]; readonly say: string }[]
  /** Said where no answer fits and nobody can be asked. @default 'I do not know.' */
  readonly otherwise?: string
}

/**
 * Makes an agent without a model, which answers by rules and asks a person where no rule fits.
 * Contract: it asks only in a run that somebody can resume with an answer.
 * @example frontDesk({ answers: [{ words: ['open', 'hours'], say: 'We are open from 9 to 5.' }] })
 */
export function frontDesk(options: FrontDeskOptions): Agent {
  const { name = 'front-desk', answers, otherwise = 'I do not know.' } = options
  checkOption(typeof name === 'string' && name !== '', 'frontDesk', 'name is a text', name)
  checkOption(Array.isArray(answers), 'frontDesk', 'answers is a list of { words, say }', answers)
  return {
    name,
    description: `Answers questions about ${answers.map(({ words }) => words[0]).join(', ')}.`,
    async *run({ messages }, ctx) {
      const question = lastQuestion(messages)
      const asked = new Set(question.toLowerCase().match(/\p{L}+/gu))
      const known = answers.find(({ words }) => words.some((word) => asked.has(word.toLowerCase())))
      if (known) return yield* say(ctx, known.say)
      if (!ctx.canInterrupt) return yield* say(ctx, otherwise)
      // Ends the run here the first time; the run that is resumed with an answer comes by again and gets it.
      const answer = await ctx.interrupt<string>({
        reason: 'input',
        message: question,
        responseSchema: { type: 'string' },
      })
      yield* say(ctx, answer)
    },
  }
}

function lastQuestion(messages: readonly Message[]): string {
  return textOf(messages.findLast(({ role }) => role === 'user')?.content ?? '')
}

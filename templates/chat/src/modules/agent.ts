import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type Registrations, singleton } from '../app.ts'
import { bookTools } from '../tools/books.ts'

/** The agent, with its tools, and the runner of its conversations. */
export const agentModule: Registrations<'agent' | 'runner'> = {
  agent: singleton(({ model }) =>
    chatModelAgent({
      name: 'Bookseller',
      description: 'Finds and orders books.',
      instruction:
        'You are a bookseller. Look books up before you recommend one, and order what the user wants. With set_theme you make the page light or dark. Answer in one or two short sentences.',
      model,
      tools: bookTools(),
    }),
  ),
  runner: singleton(({ agent, store }) => runner({ agent, store })),
}

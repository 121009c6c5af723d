import { chatModelAgent } from '@troupe/chat-model'
import { runner } from '@troupe/flow'
import { type Registrations, singleton } from '../app.ts'
import { userName } from '../handlers/user-name.ts'
import { notesTools } from '../tools/notes.ts'

/** The agent, with its tools and handlers, and the runner of its conversations. */
export const agentModule: Registrations<'agent' | 'runner'> = {
  agent: singleton(({ config, model }) =>
    chatModelAgent({
      name: 'notes',
      description: 'Keeps the notes of the user.',
      instruction: 'You keep notes. Look them up before you answer. Answer in one or two short sentences.',
      model,
      tools: notesTools(config.notes),
      handlers: [userName(config.user)],
    }),
  ),
  // After a crash a conversation is free half a minute later; until then a run waits.
  runner: singleton(({ agent, store }) => runner({ agent, store, busy: 'queue' })),
}

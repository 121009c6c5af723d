import { deskHandler } from './desk-handler.ts'
import { eventsOf, questionOf, type SeenEvent } from './events.ts'

/** Asks one question of a handler in the same page or worker, without a server, and returns the events of the answer. */
export async function ask(question: string): Promise<readonly SeenEvent[]> {
  await using handler = deskHandler()
  return eventsOf(await handler(questionOf('http://localhost/', 'page', question)))
}

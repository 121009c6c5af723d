import { eventsOf, questionOf, type SeenEvent } from './events.ts'
import { deskHandler } from './handler.ts'

/** Asks one question of a handler in the same page or worker, without a server: the events of the answer. */
export async function turn(question: string): Promise<readonly SeenEvent[]> {
  await using handler = deskHandler()
  return eventsOf(await handler(questionOf('http://localhost/', 'page', question)))
}

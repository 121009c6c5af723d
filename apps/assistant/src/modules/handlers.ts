import { loadParts } from '@troupe-apps/setup'
import { type MakeHandler, type Registrations, singleton } from '../app.ts'

/** The handlers of every agent: one for each file of `src/handlers`, the first by name outermost. */
export async function handlersModule(): Promise<Registrations<'handlers'>> {
  const makers = await loadParts<MakeHandler>(new URL('../handlers/', import.meta.url), 'handler')
  return { handlers: singleton((app) => makers.map((make) => make(app))) }
}

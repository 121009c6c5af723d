import { readJson } from '@troupe/http'
import { MAX_TITLE } from '@troupe/kernel/store'
import { invalid } from './thread-pages.ts'

/** More than the longest title has in JSON. */
const MAX_BYTES = 16_384

/** Reads the new title of a thread; `null` removes it. Contract: throws `VALIDATION_FAILED` for any other body. */
export async function readTitle(request: Request): Promise<string | null> {
  const body = await readJson(request, MAX_BYTES)
  const title: unknown = typeof body === 'object' && body !== null && 'title' in body ? body.title : undefined
  if (title === null) return title
  if (typeof title === 'string' && title !== '' && title.length <= MAX_TITLE) return title
  throw invalid('title', `expected a text of 1 to ${MAX_TITLE} characters, or null`)
}

import type { Json } from '../data/json.ts'
import type { ThreadRef } from '../data/thread-ref.ts'
import type { JournalStore } from '../store/store.ts'

/** What the run of a thread that has not ended carries for whoever continues it. Contract: the first entry of a journal has it as `carry`. */
export async function carriedBy(journal: Pick<JournalStore, 'read'>, ref: ThreadRef): Promise<Json | undefined> {
  const [opened] = (await journal.read(ref))?.entries ?? []
  return (Object(opened) as { readonly carry?: Json }).carry
}

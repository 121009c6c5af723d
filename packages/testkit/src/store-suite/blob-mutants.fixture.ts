import type { BlobStore, Store, ThreadRef } from '@troupe/kernel'
import type { StoreMutant } from './store-mutant.fixture.ts'

const READ = 'a text is read as it was written'
const LAST = 'the last text of an id counts, also of several at once'
const NEEDS = 'a text for a thread that is not there is NOT_FOUND, also when it was deleted'
const GONE = 'a deleted thread takes its texts with it, and no others'
const OWN = 'texts of another thread and of another owner are not seen'
const BRANCH = 'a branch reads the texts from before the last message that it shares'
const STAYS = 'what branches share stays when their source is deleted, and goes with the last of them'
const CUT = 'a cut thread reads what it shares, and the other name has all'
const MALFORMED = 'a malformed id or text is VALIDATION_FAILED and changes nothing'

/** A store that is wrong about large texts. */
function keeping(change: (blobs: BlobStore, store: Store) => Partial<BlobStore>): StoreMutant['ports'] {
  return (store) => (store.blobs ? { blobs: { ...store.blobs, ...change(store.blobs, store) } } : {})
}

/** Texts in a map of their own, by whatever `keyOf` makes of their thread. */
function apart(keyOf: (ref: ThreadRef) => string, changed: (text: string) => string = (text) => text) {
  const texts = new Map<string, string>()
  const key = (ref: ThreadRef, id: string) => JSON.stringify([keyOf(ref), id])
  return keeping((blobs) => ({
    async put(ref, id, text) {
      await blobs.put(ref, id, text)
      texts.set(key(ref, id), changed(text))
    },
    get: async (ref, id) => texts.get(key(ref, id)),
  }))
}

/** Stores that are wrong about large texts. */
export const blobMutants: readonly StoreMutant[] = [
  {
    wrong: 'a text is cut at a NUL',
    caught: [READ],
    ports: keeping((blobs) => ({ put: (ref, id, text) => blobs.put(ref, id, text.split('\0')[0] ?? '') })),
  },
  {
    wrong: 'the first text of an id stays',
    caught: [LAST],
    ports: keeping((blobs) => ({
      async put(ref, id, text) {
        if ((await blobs.get(ref, id)) === undefined) await blobs.put(ref, id, text)
      },
    })),
  },
  {
    wrong: 'a text is a change of its thread',
    caught: ['a text changes nothing in its thread'],
    ports: (store) => ({
      blobs: {
        ...(store.blobs as BlobStore),
        async put(ref, id, text) {
          await store.blobs?.put(ref, id, text)
          await store.threads.label?.(ref, { metadata: { blob: id } })
        },
      },
    }),
  },
  {
    wrong: 'a text opens its thread',
    caught: [NEEDS],
    ports: keeping((blobs, { threads }) => ({
      async put(ref, id, text) {
        await threads.open(ref)
        await blobs.put(ref, id, text)
      },
    })),
  },
  {
    wrong: 'texts hang on the name of a thread, and branches have none',
    caught: [GONE, BRANCH, STAYS, CUT],
    ports: apart((ref) => JSON.stringify(ref)),
  },
  {
    wrong: 'all threads of an owner share their texts',
    caught: [GONE, OWN, BRANCH],
    ports: apart(({ app, user }) => JSON.stringify([app, user])),
  },
  {
    wrong: 'a branch has no texts of its source',
    caught: [BRANCH, STAYS, CUT, 'a branch of a branch reads what all of them share'],
    ports: keeping((blobs, { threads }) => {
      const own = new Set<string>()
      const key = ({ seq }: { readonly seq: number }, id: string) => JSON.stringify([seq, id])
      return {
        async put(ref, id, text) {
          await blobs.put(ref, id, text)
          const thread = await threads.get(ref)
          if (thread) own.add(key(thread, id))
        },
        async get(ref, id) {
          const thread = await threads.get(ref)
          return thread && own.has(key(thread, id)) ? blobs.get(ref, id) : undefined
        },
      }
    }),
  },
  {
    wrong: 'a branch that writes a text of an id that its source has changes that of its source',
    caught: ['a branch and its source write texts of the same id each for itself'],
    ports: keeping((blobs, { threads }) => ({
      async put(ref, id, text) {
        const from = (await threads.get(ref))?.forkedFrom
        const source = from && { ...ref, threadId: from.threadId }
        const shared = source && (await blobs.get(source, id)) !== undefined
        await blobs.put(shared ? source : ref, id, text)
      },
    })),
  },
  {
    wrong: 'a text that was replaced is gone for those who share it',
    caught: ['a branch reads a text as it was before the last message that it shares'],
    ports: keeping((blobs, { threads }) => {
      const last = new Map<string, string>()
      const key = ({ app, user }: ThreadRef, id: string) => JSON.stringify([app, user, id])
      return {
        async put(ref, id, text) {
          await blobs.put(ref, id, text)
          last.set(key(ref, id), text)
        },
        async get(ref, id) {
          const text = await blobs.get(ref, id)
          const forked = (await threads.get(ref))?.forkedFrom !== undefined
          return forked && text !== last.get(key(ref, id)) ? undefined : text
        },
      }
    }),
  },
  {
    wrong: 'ids of texts are not checked',
    caught: [MALFORMED],
    ports: keeping((blobs) => ({ get: (ref, id) => blobs.get(ref, typeof id === 'string' && id ? id : 'none') })),
  },
]

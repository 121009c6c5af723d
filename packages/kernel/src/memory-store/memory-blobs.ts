import type { BlobStore } from '../store/blob-store.ts'
import { checkBlob } from '../store/check-blob.ts'
import { checkId } from '../store/check-id.ts'
import { checkRef } from '../store/check-ref.ts'
import { threadNotFound } from '../store/refusals.ts'
import { findThread, type MemoryData, WHO } from './memory-data.ts'

/** Large texts in memory. */
export function memoryBlobs(data: MemoryData): BlobStore {
  return {
    async put(ref, id, text) {
      checkRef(WHO, ref)
      checkBlob(WHO, id, text)
      const { row } = findThread(data, ref)
      if (!row) throw threadNotFound(WHO, ref.threadId)
      const seq = row.messages.length
      const former = row.blobs.get(id)?.filter((blob) => blob.seq < seq) ?? []
      row.blobs.set(id, [...former, { seq, text }])
    },

    async get(ref, id) {
      checkRef(WHO, ref)
      checkId(WHO, 'id', id)
      return findThread(data, ref).row?.blobs.get(id)?.at(-1)?.text
    },
  }
}

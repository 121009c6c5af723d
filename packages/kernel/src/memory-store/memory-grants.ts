import { checkGrant, checkGrantQuery, MAX_GRANTS } from '../store/check-grant.ts'
import { checkId } from '../store/check-id.ts'
import { checkOwner } from '../store/check-ref.ts'
import type { Grant, GrantStore } from '../store/grant-store.ts'
import { threadNotFound } from '../store/refusals.ts'
import { findOwner, type MemoryData, type OwnedGrant, WHO } from './memory-data.ts'

/** Grants in memory. */
export function memoryGrants(data: MemoryData): GrantStore {
  return {
    async list(owner, where = {}) {
      checkOwner(WHO, owner)
      checkGrantQuery(WHO, where)
      const grants = findOwner(data, owner).grants.map(view)
      if (where.threadId === undefined) return grants
      return grants.filter(({ threadId = where.threadId }) => threadId === where.threadId)
    },

    async add(owner, given) {
      checkOwner(WHO, owner)
      checkGrant(WHO, given)
      const own = findOwner(data, owner)
      const { agent, tool, rule, threadId, at } = given
      const thread = threadId === undefined ? undefined : own.threads.get(threadId)
      if (threadId !== undefined && !thread) throw threadNotFound(WHO, threadId)
      const isSame = (one: OwnedGrant) =>
        one.agent === agent && one.tool === tool && one.rule === rule && one.thread === thread
      if (own.grants.some(isSame)) return
      own.grants.push({ id: String(++data.grant), agent, tool, rule, thread, at })
      if (own.grants.length > MAX_GRANTS) own.grants.shift()
      data.owners.set(own.key, own)
    },

    async revoke(owner, id) {
      checkOwner(WHO, owner)
      checkId(WHO, 'id', id)
      const { grants } = findOwner(data, owner)
      const place = grants.findIndex((grant) => grant.id === id)
      if (place < 0) return false
      grants.splice(place, 1)
      return true
    },
  }
}

/** A grant as callers see it. */
function view({ id, agent, tool, rule, thread, at }: OwnedGrant): Grant {
  return {
    id,
    agent,
    tool,
    ...(thread && { threadId: thread.thread.ref.threadId }),
    ...(rule !== undefined && { rule }),
    at,
  }
}

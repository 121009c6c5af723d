import type { RunLogStore, ThreadRef } from '@troupe/kernel'
import { LogPacker } from './log-packer.ts'
import { readRunLog } from './read-run-log.ts'

/** The most characters of a compacted log. A longer one stays as it is: it is long because of what the run said and did, not because of its events. */
const COMPACTED_CHARS = 16_777_216

/**
 * Compacts the log of a run that has ended, if that makes it much shorter.
 * Contract: `packer` was given all events of the log; without it, or if it has not kept them, the log is read. Never wrong, also if it is done twice at once, or not at all.
 */
export async function compactLog(log: RunLogStore, ref: ThreadRef, runId: string, packer?: LogPacker): Promise<void> {
  if (packer?.worthIt === false) return
  const packed = packer?.isWhole ? packer : await packedLog(log, ref, runId)
  if (packed?.worthIt) await log.compact(ref, runId, packed.entries())
}

/** Packs a log; undefined if it is too long. */
async function packedLog(log: RunLogStore, ref: ThreadRef, runId: string): Promise<LogPacker | undefined> {
  const packer = new LogPacker()
  const controller = new AbortController()
  for await (const batch of readRunLog(log, ref, runId, { live: false, signal: controller.signal })) {
    for (const { event } of batch) packer.add(event, JSON.stringify(event).length)
    if (packer.chars > COMPACTED_CHARS) return undefined
  }
  return packer
}

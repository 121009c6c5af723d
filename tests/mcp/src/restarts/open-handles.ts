import { setImmediate } from 'node:timers/promises'
import { childrenOf } from '../children.ts'

/** What a process has open. */
export interface OpenHandles {
  readonly processes: number
  readonly sockets: number
  readonly listeners: number
}

/** Counts what this process has open. */
export function openHandles(): OpenHandles {
  return {
    processes: childrenOf(process.pid).length,
    sockets: process.getActiveResourcesInfo().filter((name) => /Pipe|TCP|Process/.test(name)).length,
    listeners: process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0),
  }
}

/** What this process has open beyond what it had. Contract: closed handles go with the next turns of the event loop, which it waits for. */
export async function leftOver(before: OpenHandles): Promise<OpenHandles> {
  for (let i = 0; i < 1_000 && openSockets() > before.sockets; i++) await setImmediate()
  const { processes, sockets, listeners } = openHandles()
  return {
    processes: processes - before.processes,
    sockets: Math.max(0, sockets - before.sockets),
    listeners: listeners - before.listeners,
  }
}

function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => /Pipe|TCP|Process/.test(name)).length
}

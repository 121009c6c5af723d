import { useEffect, useState } from 'react'
import type { Run } from './run.ts'
import type { Thread } from './thread.ts'

const TICK_MS = 1_000

/**
 * A run of a thread, the last one by default; while it is active, its time goes on.
 * @example useRun(useThread({ url: '/agent', threadId }))?.status // 'running'
 */
export function useRun({ runs }: Pick<Thread, 'runs'>, runId?: string): Run | undefined {
  return useRunning(runId === undefined ? runs.at(-1) : runs.find((run) => run.runId === runId))
}

/** A run whose time goes on while it is active. */
export function useRunning<R extends Run | undefined>(run: R): R {
  const [now, setNow] = useState(0)
  const isRunning = run?.status === 'running'
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isRunning])
  return run && isRunning && now > run.to ? { ...run, to: now } : run
}

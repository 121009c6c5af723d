import { JOURNAL, type Journal, type RunContext } from '../../packages/kernel/src/index.ts'
import { CompletionLog } from '../../packages/kernel/src/journal.ts'
import { notJson } from '../../packages/kernel/src/kit.ts'

/** What was wrong with the steps of the runs so far. */
const faults: string[] = []

/** The faults since the last call. */
export function takeFaults(): readonly string[] {
  return faults.splice(0)
}

/** Puts a journal under a root run, unless its caller or its host has one for it; records pass through JSON. */
export function journalled(ctx: RunContext, hosted: boolean): RunContext {
  if (hosted || ctx.get(JOURNAL)) return ctx
  const { runId } = ctx
  const log = new CompletionLog({
    runId,
    attempt: 1,
    openedBy: 1,
    once: async (work) => JSON.parse(JSON.stringify(await work())),
  })
  return ctx.with(JOURNAL, watched(log, runId))
}

/** Watches a journal: each step may be asked for once and is named after its run, and each record is JSON. */
export function watched(journal: Journal, runId: string): Journal {
  const asked = new Set<string>()
  return {
    ...(journal.shown && { shown: journal.shown }),
    perform(step, work, lost) {
      if (asked.has(step)) faults.push(`the step ${step} was asked for twice`)
      if (!step.startsWith(`${runId}/`)) faults.push(`the step ${step} is not named after its run, ${runId}`)
      asked.add(step)
      const checked = async () => {
        const record = await work()
        const broken = notJson(record)
        if (broken !== undefined) faults.push(`the record of ${step} is not JSON at ${broken || 'its root'}`)
        return record
      }
      return journal.perform(step, checked, lost)
    },
  }
}

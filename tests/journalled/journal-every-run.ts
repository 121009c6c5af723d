import { JOURNAL, type Json, type RunContext } from '../../packages/kernel/src/index.ts'
import { CompletionLog, type JournalEntry } from '../../packages/kernel/src/journal.ts'
import { notJson } from '../../packages/kernel/src/kit.ts'

/** What was wrong with the steps of the runs so far. */
const faults: string[] = []

/** The faults since the last call. */
export function takeFaults(): readonly string[] {
  return faults.splice(0)
}

/** Puts a journal under a root run, unless it has one: records pass through JSON, and each step may be asked for once. */
export function journalled(ctx: RunContext): RunContext {
  if (ctx.get(JOURNAL)) return ctx
  const { runId } = ctx
  const log = new CompletionLog({ runId, attempt: 1, openedBy: 1, once: async (work) => copied(await work()) })
  const asked = new Set<string>()
  const perform: CompletionLog['perform'] = (step, work, lost) => {
    if (asked.has(step)) faults.push(`the step ${step} was asked for twice`)
    if (!step.startsWith(`${runId}/`)) faults.push(`the step ${step} is not named after its run, ${runId}`)
    asked.add(step)
    return log.perform(step, work, lost)
  }
  return ctx.with(JOURNAL, { perform })
}

function copied(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  return entries.map(({ step, by, value }) => {
    const broken = notJson(withoutUndefined(value))
    if (broken !== undefined) faults.push(`the record of ${step} is not JSON at ${broken || 'its root'}`)
    return { step, by, value: JSON.parse(JSON.stringify(value)) as Json }
  })
}

/** JSON leaves out properties that are undefined, and so do stores. */
function withoutUndefined(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutUndefined)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const defined = Object.entries(value).filter(([, inner]) => inner !== undefined)
  return Object.fromEntries(defined.map(([key, inner]) => [key, withoutUndefined(inner)]))
}

/**
 * Whether a step, or the run whose steps begin with `name`, is inside one of these steps: a tool call, or an agent that records no steps.
 * Contract: what is inside a recorded step does not happen again in a replay.
 */
export function isInside(name: string, steps: readonly string[]): boolean {
  return steps.some((step) => {
    if (step === name) return false
    if (/(^|\/)agent$/.test(step)) {
      const run = step.slice(0, -'agent'.length)
      return name !== run && name.startsWith(run)
    }
    return name.startsWith(`${step}/`) || name.startsWith(`${step}.`)
  })
}

/**
 * The ids of the runs that a run with this id would be nested in, outermost first: a nested run has the id `<runId>/<step>`.
 * Contract: of two runs that an owner begins, neither has an id above the other's, because their records, messages and steps would get the same ids.
 * @example runIdsAbove('a/b/c') // ['a', 'a/b']
 */
export function runIdsAbove(runId: string): readonly string[] {
  const above: string[] = []
  for (let at = runId.indexOf('/', 1); at > 0; at = runId.indexOf('/', at + 1)) above.push(runId.slice(0, at))
  return above
}

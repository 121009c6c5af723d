/** Contract: throws if the work did not come to a text of this length. */
export async function expectText(
  expected: number,
  work: PromiseLike<{ readonly text: string } | string>,
): Promise<void> {
  const result = await work
  const { length } = typeof result === 'string' ? result : result.text
  if (length !== expected) throw new Error(`bench: expected ${expected} characters, got ${length}`)
}

/** Contract: throws if not as many deltas have arrived. */
export async function countDeltas(expected: number, events: AsyncIterable<{ readonly type: string }>): Promise<void> {
  let seen = 0
  for await (const { type } of events) if (type === 'text-delta') seen++
  if (seen !== expected) throw new Error(`bench: expected ${expected} deltas, got ${seen}`)
}

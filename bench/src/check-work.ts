/** Waits for a result. Contract: throws unless its text has this length. */
export async function expectText(
  expected: number,
  work: PromiseLike<{ readonly text: string } | string>,
): Promise<void> {
  const result = await work
  const { length } = typeof result === 'string' ? result : result.text
  if (length !== expected) throw new Error(`bench: expected ${expected} characters, got ${length}`)
}

/** Reads a stream. Contract: throws unless it has this number of deltas. */
export async function countDeltas(expected: number, events: AsyncIterable<{ readonly type: string }>): Promise<void> {
  let seen = 0
  for await (const { type } of events) if (type === 'text-delta') seen++
  if (seen !== expected) throw new Error(`bench: expected ${expected} deltas, got ${seen}`)
}

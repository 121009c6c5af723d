import { expect } from 'vitest'
import { type Clause, check } from '../clause.ts'

/** Long enough for a busy machine; a hang of most kinds is noticed much earlier. */
const LIMIT_MS = 8_000

/** The messages of the clauses that do not hold, by their names; a clause that hangs does not hold. */
async function complaints(clauses: readonly Clause[], limitMs = LIMIT_MS): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  await Promise.all(
    clauses.map(async (clause) => {
      try {
        await check(clause, limitMs)
      } catch (error) {
        found.set(clause.name, (error as Error).message)
      }
    }),
  )
  return found
}

/** The names of clauses that do not hold. */
export async function broken(clauses: readonly Clause[]): Promise<string[]> {
  return [...(await complaints(clauses)).keys()]
}

/** Expects that these clauses do not hold, and that each says in words what is wrong and what to do. */
export async function expectBroken(
  clauses: readonly Clause[],
  names: readonly string[],
  limitMs?: number,
): Promise<Map<string, string>> {
  const found = await complaints(clauses, limitMs)
  expect([...found.keys()]).toEqual(expect.arrayContaining([...names]))
  for (const [name, message] of found) expectWords(name, message)
  return found
}

/** A sentence about the plugin, perhaps what was seen, and advice; not what an assertion library prints. */
function expectWords(name: string, message: string): void {
  const [wrong = '', ...rest] = message.split('\n')
  const advice = rest.at(-1) ?? ''
  expect(wrong, name).toMatch(/^[A-Za-z]\S*( \S+){3,}\.$/)
  expect(advice, name).toMatch(/^What to do: [A-Z]\S*( \S+){3,}[.…]$/)
  expect(wrong, name).not.toMatch(/^expected .* to /)
}

import type { Clause } from '../clause.ts'

/** The names of clauses that do not hold; one that hangs does not. */
export async function broken(clauses: readonly Clause[]): Promise<string[]> {
  const names = await Promise.all(
    clauses.map(async ({ name, run }) => {
      const { promise: late, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(() => reject(new Error('hangs')), 3_000)
      try {
        await Promise.race([run(), late])
        return []
      } catch {
        return [name]
      } finally {
        clearTimeout(timer)
      }
    }),
  )
  return names.flat()
}

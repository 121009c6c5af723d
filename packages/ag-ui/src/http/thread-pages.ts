import { KernelError, type Owner, type Page, type ThreadStore, type ThreadSummary } from '@troupe/kernel'
import { type BoundedRows, collectRows } from '../bounded-pages.ts'

const LONGEST_PAGE = 1_000

/** The page that a query asks for: `limit` and `after`. Contract: throws `VALIDATION_FAILED` if they are not whole numbers. */
export function pageOf(query: URLSearchParams): Page & { readonly limit: number } {
  const after = numberIn(query, 'after', Number.MAX_SAFE_INTEGER)
  return { limit: limitOf(query), ...(after !== undefined && { after }) }
}

/** Reads a page of the threads of an owner: by their opening, or with `order=changed` by their last change, the latest first. */
export async function threadPage(
  threads: ThreadStore,
  owner: Owner,
  query: URLSearchParams,
  textOf: (thread: ThreadSummary) => string,
  chars: number,
): Promise<BoundedRows<string>> {
  const order = query.get('order') ?? 'opened'
  if (order === 'opened') {
    const page = { newestFirst: true, ...pageOf(query) }
    return collectRows([await threads.list(owner, page)], textOf, { limit: page.limit, chars })
  }
  if (order !== 'changed' || !threads.recent) throw invalid('order', 'expected opened or changed')
  const limit = limitOf(query)
  const after = changeIn(query)
  const rows = await threads.recent(owner, { limit, ...(after && { after }) })
  const found = await collectRows([rows], textOf, { limit, chars })
  const last = rows.find(({ seq }) => seq === found.next)
  return { rows: found.rows, ...(last && { next: `${last.updatedAt}-${last.seq}` }) }
}

function limitOf(query: URLSearchParams): number {
  return Math.max(1, numberIn(query, 'limit', LONGEST_PAGE) ?? 100)
}

function numberIn(query: URLSearchParams, path: string, most: number): number | undefined {
  const text = query.get(path)
  if (text === null) return undefined
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value <= most) return value
  throw invalid(path, `expected a whole number of at most ${most}`)
}

/** The `next` of the page before: when its last thread changed, and its place in the list. */
function changeIn(query: URLSearchParams): Pick<ThreadSummary, 'updatedAt' | 'seq'> | undefined {
  const text = query.get('after')
  if (text === null) return undefined
  const [, updatedAt, seq] = /^(\d{1,15}(?:\.\d{1,15})?)-(\d{1,15})$/.exec(text) ?? []
  if (updatedAt === undefined) throw invalid('after', 'expected the next of the page before')
  return { updatedAt: Number(updatedAt), seq: Number(seq) }
}

/** The error of a field of a request. */
export function invalid(path: string, message: string): KernelError {
  return new KernelError('VALIDATION_FAILED', `${path}: ${message}`, { details: { issues: [{ path, message }] } })
}

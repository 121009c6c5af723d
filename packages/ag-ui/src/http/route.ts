import { type Json, KernelError, type Owner } from '@troupe/kernel'
import type { Caller } from '../run/served-agent.ts'

/** One request, on behalf of its owner. */
export interface RouteContext extends Caller {
  /** Contract: a route reads and writes data of this owner only. */
  readonly owner: Owner
  /** The ids in the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly request: Request
  /** Keeps a worker alive after its response until the work is done. */
  readonly waitUntil: (work: Promise<unknown>) => void
}

/** A route as data, so that a test can iterate over all of them. */
export interface Route {
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Segments; `:name` stands for an id. */
  readonly path: string
  handle(context: RouteContext): Promise<Response>
}

/** Finds the route of a request. Contract: `NOT_FOUND`, or `METHOD_NOT_ALLOWED` with the methods in `details.allow`. */
export function findRoute(
  routes: readonly Route[],
  mount: string,
  method: string,
  pathname: string,
): { readonly route: Route; readonly params: Record<string, string> } {
  const segments = segmentsBelow(mount, pathname)
  const allow: Json[] = []
  for (const route of routes) {
    const params = segments && matched(route.path, segments)
    if (!params) continue
    if (route.method === method) return { route, params }
    allow.push(route.method)
  }
  if (allow.length === 0) throw new KernelError('NOT_FOUND', 'http: no such route')
  throw new KernelError('METHOD_NOT_ALLOWED', `http: expected ${allow.join(' or ')}`, { details: { allow } })
}

/** Whether a path is a mount path or below it. */
export function isBelow(mount: string, pathname: string): boolean {
  return segmentsBelow(mount, pathname) !== undefined
}

/** The segments of a path below the mount path; a slash at the end does not matter. */
function segmentsBelow(mount: string, pathname: string): readonly string[] | undefined {
  const base = split(mount)
  const all = split(pathname)
  return base.every((segment, i) => all[i] === segment) ? all.slice(base.length) : undefined
}

function split(path: string): string[] {
  const segments = path.split('/').slice(1)
  if (segments.at(-1) === '') segments.pop()
  return segments
}

function matched(path: string, segments: readonly string[]): Record<string, string> | undefined {
  const pattern = split(path)
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of pattern.entries()) {
    const segment = segments[i] as string
    if (!part.startsWith(':')) {
      if (part !== segment) return undefined
      continue
    }
    const id = decoded(segment)
    if (id === undefined || id === '') return undefined
    params[part.slice(1)] = id
  }
  return params
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}

import { type Json, KernelError } from '@troupe/kernel'

/** The forms of keys that vendors repeat in their errors: tokens with a known prefix, headers, and queries of addresses. */
const KEYS: readonly RegExp[] = [
  /\b(?:sk|pk|rk|xai|gsk|AIza)[\w*-]{8,}/g,
  /\b(?:bearer|basic) [\w.~+/=*-]{8,}/gi,
  /\b(?:api[_-]?key|x-goog-api-key|access_token|key)=[^&\s"']+/gi,
]

/** Replaces keys in a text: the given ones, and what looks like one. */
export function withoutKeys(text: string, keys: readonly string[] = []): string {
  const known = keys.filter((key) => key.length >= 4).reduce((rest, key) => rest.replaceAll(key, '[key]'), text)
  return KEYS.reduce((rest, pattern) => rest.replaceAll(pattern, '[key]'), known)
}

/** Makes the same error without keys in its message and details. Contract: the copy has no cause, because a vendor's own error has the request, its headers and the answer. */
export function errorWithoutKeys(error: unknown, keys: readonly string[]): unknown {
  const { code, message, details, retryable } = KernelError.from(error, 'MODEL_FAILED')
  const cleaned = withoutKeys(message, keys)
  const text = JSON.stringify(details)
  const hasCause = (error as { readonly cause?: unknown } | undefined)?.cause !== undefined
  if (!hasCause && cleaned === message && withoutKeys(text, keys) === text) return error
  return new KernelError(code, cleaned, { retryable, details: cleanedDetails(details, keys) as typeof details })
}

function cleanedDetails(value: Json, keys: readonly string[]): Json {
  if (typeof value === 'string') return withoutKeys(value, keys)
  if (Array.isArray(value)) return value.map((item) => cleanedDetails(item, keys))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, cleanedDetails(inner, keys)]))
}

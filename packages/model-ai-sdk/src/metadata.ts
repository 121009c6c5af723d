import type { JsonObject, ProviderMetadata } from '@troupe/kernel'

/** Copies a provider's metadata as plain JSON; entries that are not JSON objects are left out. Contract: undefined if nothing is left. */
export function toMetadata(value: unknown): ProviderMetadata | undefined {
  if (!isRecord(value)) return undefined
  const metadata: Record<string, JsonObject> = {}
  for (const [provider, entry] of Object.entries(value)) {
    const plain = isRecord(entry) ? plainJson(entry) : undefined
    if (plain) metadata[provider] = plain
  }
  return Object.keys(metadata).length > 0 ? metadata : undefined
}

/** Merges two sets of provider options, provider by provider; `above` wins. */
export function mergeMetadata(
  below: ProviderMetadata | undefined,
  above: ProviderMetadata | undefined,
): ProviderMetadata | undefined {
  if (!below || !above) return above ?? below
  const merged: Record<string, JsonObject> = { ...below }
  for (const [provider, entry] of Object.entries(above)) merged[provider] = { ...merged[provider], ...entry }
  return merged
}

function plainJson(value: Record<string, unknown>): JsonObject | undefined {
  try {
    const plain: unknown = JSON.parse(JSON.stringify(value))
    return isRecord(plain) && Object.keys(plain).length > 0 ? (plain as JsonObject) : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The oldest supported Node version; the same as `engines` of every package. */
const NEEDED: readonly [major: number, minor: number] = [22, 18]

/** Contract: throws on a Node version that is too old and names the version needed; other runtimes are not checked. */
export function checkNode(versions: Versions | undefined = here()): void {
  if (!versions?.node || versions.bun || versions.deno) return
  const [major = 0, minor = 0] = versions.node.split('.').map(Number)
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return
  throw new Error(`@troupe/kernel needs Node ${NEEDED.join('.')} or later; this is Node ${versions.node}.`)
}

interface Versions {
  readonly node?: string
  readonly bun?: string
  readonly deno?: string
}

function here(): Versions | undefined {
  return (globalThis as { readonly process?: { readonly versions?: Versions } }).process?.versions
}

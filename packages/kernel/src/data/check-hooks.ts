import { KernelError } from './kernel-error.ts'
import { hint, isMisspelt } from './option.ts'

/** The hooks that an object may have. */
interface HookNames {
  readonly known: readonly string[]
  /** Matches method names that can only be meant as a hook. */
  readonly looksLikeHook: RegExp
  readonly aliases?: Readonly<Record<string, string>>
  /** The number of known hooks that the object has. */
  readonly hooks: number
}

/** Contract: throws `CONFIG_INVALID` for a method that was meant as a hook and is not one, and for an object whose methods are all unknown. */
export function checkHooks(who: string, object: object, { known, looksLikeHook, aliases, hooks }: HookNames): void {
  let others = 0
  for (const name of methodsOf(object)) {
    if (known.includes(name)) continue
    if (looksLikeHook.test(name) || isMisspelt(name, known)) {
      throw new KernelError('CONFIG_INVALID', `${who}: unknown hook ${name}; ${hint(name, known, aliases)}`)
    }
    others++
  }
  if (hooks === 0 && others > 0) {
    throw new KernelError('CONFIG_INVALID', `${who}: expected at least one hook; known are ${known.join(', ')}`)
  }
}

/** The methods of an object and of its classes by name. Contract: runs no getter. */
export function methodsOf(object: object): ReadonlySet<string> {
  const names = new Set<string>()
  for (let owner: object | null = object; owner !== null; owner = Object.getPrototypeOf(owner)) {
    if (Object.getPrototypeOf(owner) === null && Object.hasOwn(owner, 'isPrototypeOf')) break
    for (const name of Object.getOwnPropertyNames(owner)) {
      if (name === 'constructor') continue
      if (typeof Object.getOwnPropertyDescriptor(owner, name)?.value === 'function') names.add(name)
    }
  }
  return names
}

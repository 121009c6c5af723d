import { readdir } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { KernelError } from '@troupe/kernel'

/** Source files, without tests and declarations. */
const SOURCE = /^[\w-]+\.(ts|js)$/

/**
 * Loads the parts of an app from a folder, one file each.
 * Contract: they are in the order of the file names; every file exports a function under `name`, and `CONFIG_INVALID`
 * names the file that does not or that cannot be loaded; a missing folder has no parts.
 * @example
 * const makers = await loadParts<MakeAgent>(new URL('../agents/', import.meta.url), 'agent')
 */
export async function loadParts<Make extends (app: never) => unknown>(
  folder: URL,
  name: string,
): Promise<readonly Make[]> {
  const files = (await filesIn(folder)).filter((file) => SOURCE.test(file)).sort()
  return Promise.all(files.map((file) => loadPart<Make>(new URL(file, folder), name)))
}

async function filesIn(folder: URL): Promise<readonly string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

async function loadPart<Make>(file: URL, name: string): Promise<Make> {
  const shown = `${basename(fileURLToPath(new URL('.', file)))}/${basename(fileURLToPath(file))}`
  const exports = await load(file, shown)
  const make = exports[name]
  if (typeof make === 'function') return make as Make
  const found =
    make === undefined ? `the file exports ${Object.keys(exports).join(', ') || 'nothing'}` : `got ${typeof make}`
  throw new KernelError('CONFIG_INVALID', `${shown}: expected an exported function named ${name}, ${found}`)
}

async function load(file: URL, shown: string): Promise<Record<string, unknown>> {
  try {
    return await import(file.href)
  } catch (cause) {
    throw new KernelError('CONFIG_INVALID', `${shown}: cannot be loaded: ${KernelError.from(cause).message}`, { cause })
  }
}

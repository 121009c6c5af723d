import { resolve } from 'node:path'
import { type BuildFailure, build } from 'esbuild'

/** A bundle for a browser or a worker, and the imports that it lacks. */
export interface Bundle {
  readonly code: string
  /** Imports that cannot be resolved there: a browser has neither Node's modules nor a folder of packages. */
  readonly missing: readonly string[]
  /** The files that it contains. */
  readonly sources: readonly string[]
}

/** Bundles an entry of a package, or a file, for a browser. Contract: nothing is left out or replaced; `missing` lists what cannot be resolved. */
export async function bundle(entry: string): Promise<Bundle> {
  try {
    const { outputFiles, metafile } = await build({
      entryPoints: [entry],
      absWorkingDir: import.meta.dirname,
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      outdir: 'out',
      write: false,
      metafile: true,
      logLevel: 'silent',
    })
    const sources = Object.keys(metafile.inputs)
    const left = Object.values(metafile.outputs).flatMap(({ imports }) => imports.map(({ path }) => path))
    // The `browser` field of a package can replace a module by an empty one, which fails when it is used.
    const emptied = sources.filter((path) => path.startsWith('(disabled):'))
    return {
      code: outputFiles[0]?.text ?? '',
      missing: [...left, ...emptied],
      sources: sources.map((path) => resolve(import.meta.dirname, path)),
    }
  } catch (cause) {
    const { errors } = cause as Partial<BuildFailure>
    if (!errors) throw cause
    return { code: '', missing: errors.map(({ text, location }) => `${text} in ${location?.file}`), sources: [] }
  }
}

import { execFileSync } from 'node:child_process'

const PROBE = `const start = performance.now(); await import(process.argv[1]); console.log(performance.now() - start)`

/** Measures the milliseconds to import a built entry in a fresh process, as the median of nine. */
export function importTime(entry: string): number {
  const args = ['--input-type=module', '--eval', PROBE, new URL(`../../${entry}`, import.meta.url).href]
  const times = Array.from({ length: 9 }, () => Number(execFileSync(process.execPath, args, { encoding: 'utf8' })))
  return times.sort((a, b) => a - b)[4] ?? Number.NaN
}

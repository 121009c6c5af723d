/** Shows some rows of the comparison with other frameworks on another page. */

const PLACE = /<!-- benchmarks: ([^<>]*) -->/g

/** Puts the rows of the results that a comment names in its place: `<!-- benchmarks: one streamed delta; import, cold -->`. */
export function fillBenchmarks(markdown: string, results: string): string {
  return markdown.replaceAll(PLACE, (_, names: string) => tableOf(results, names.split('; ')))
}

function tableOf(results: string, names: readonly string[]): string {
  const [head = '', rule = '', ...rows] = results.split('\n').filter((line, i, all) => isInFirstTable(line, i, all))
  const shown = names.map((name) => {
    const row = rows.find((line) => line.startsWith(`| ${name} |`))
    if (!row) throw new Error(`no row "${name}" in the first table of the results; there are:\n${rows.join('\n')}`)
    return row.replaceAll('none, see below', 'none')
  })
  return [head, rule, ...shown].join('\n')
}

function isInFirstTable(line: string, at: number, lines: readonly string[]): boolean {
  const begin = lines.findIndex((one) => one.startsWith('| workload |'))
  const end = lines.findIndex((one, i) => i > begin && !one.startsWith('|'))
  return at >= begin && at < end && line !== ''
}

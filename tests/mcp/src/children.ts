import { execFileSync } from 'node:child_process'

/** The processes that a process has started and that have not ended, but for those of this question. */
export function childrenOf(pid: number): readonly number[] {
  const rows = execFileSync('ps', ['-e', '-o', 'pid=,ppid=,stat=,comm='], { encoding: 'utf8' }).trim().split('\n')
  return rows.flatMap((row) => {
    const [child = '', parent = '', state = '', command = ''] = row.trim().split(/\s+/)
    const isOwn = Number(parent) === pid && !state.startsWith('Z') && command !== 'ps'
    return isOwn ? [Number(child)] : []
  })
}

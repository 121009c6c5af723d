import { execFileSync } from 'node:child_process'

/** The author's name, if git knows it. */
export function gitName(): string | undefined {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'] as const
    return execFileSync('git', ['config', 'user.name'], { encoding: 'utf8', stdio: [...stdio] }).trim() || undefined
  } catch {
    return undefined
  }
}

import { checkOption, checkOptionNames, type OptionNames } from '@troupe/kernel/kit'

/** The options of writing records. */
export interface WriteOptions {
  /** How long text may wait for more. @default 50 */
  readonly delayMs?: number
  /** The number of characters of one run that are written without waiting. @default 65536 */
  readonly maxText?: number
  /** The most commands in one write. @default 100 */
  readonly maxCommands?: number
  /** How often a write is tried before the store counts as down. @default 3 */
  readonly attempts?: number
  /** The first pause between attempts; each is twice the one before. @default 100 */
  readonly retryMs?: number
  /** The longest pause, also while the store is down. @default 30000 */
  readonly maxRetryMs?: number
  /** How long the store may take for one write. @default 10000 */
  readonly timeoutMs?: number
  /** The most commands that may wait, of all threads; beyond that new runs are not recorded. @default 10000 */
  readonly maxPending?: number
  /** How long `flush` waits. @default 10000 */
  readonly flushMs?: number
}

const DEFAULTS: Required<WriteOptions> = {
  delayMs: 50,
  maxText: 65_536,
  maxCommands: 100,
  attempts: 3,
  retryMs: 100,
  maxRetryMs: 30_000,
  timeoutMs: 10_000,
  maxPending: 10_000,
  flushMs: 10_000,
}

const NAMES: OptionNames<WriteOptions> = {
  delayMs: true,
  maxText: true,
  maxCommands: true,
  attempts: true,
  retryMs: true,
  maxRetryMs: true,
  timeoutMs: true,
  maxPending: true,
  flushMs: true,
}

/** Fills in the defaults. Contract: throws `CONFIG_INVALID` for an unknown or invalid option. */
export function writeOptions(options: WriteOptions = {}): Required<WriteOptions> {
  checkOptionNames('persistence: write', options, NAMES, { retries: 'attempts' })
  const all = { ...DEFAULTS, ...options }
  for (const [name, value] of Object.entries(all)) {
    const least = name === 'delayMs' ? 0 : 1
    checkOption(
      Number.isInteger(value) && value >= least,
      'persistence',
      `${name} must be a whole number from ${least} on`,
      value,
    )
  }
  return all
}

import { availableParallelism, cpus, totalmem } from 'node:os'

/** What a measurement ran on. */
export function machine() {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
  }
}

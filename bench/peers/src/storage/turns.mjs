/** Measures turns of one side on threads of one length and prints JSON: `turns.mjs <index of the side> <length> <milliseconds of CPU>`. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { done } from '../script.mjs'
import { ANSWER, PIECES } from './past-messages.mjs'
import { storedSides } from './stored-sides.mjs'

const [, , index, length, roundMs] = process.argv
const { file, ...options } = storedSides[Number(index)]
const folder = mkdtempSync(join(tmpdir(), 'troupe-peers-'))
const side = await (await import(`./sides/${file}.mjs`)).open(folder, options)
let threads = 0

/** The bytes that this process has written; NaN where the system does not tell. */
function bytesWritten() {
  try {
    return Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

async function newThread() {
  const thread = `t${++threads}`
  await side.seed(thread, Number(length))
  return thread
}

/** One turn; throws if the work was not done. */
async function turn(thread) {
  Object.assign(done, { modelCalls: 0, toolCalls: 0, deltas: 0 })
  const text = await side.turn(thread)
  const { modelCalls, toolCalls, deltas } = done
  if (text === ANSWER && modelCalls === 2 && toolCalls === 1 && deltas === PIECES) return
  throw new Error(
    `${file}: ${modelCalls} model calls, ${toolCalls} tool calls, ${deltas} deltas, ${text.length} characters`,
  )
}

/** The CPU in milliseconds of this process with all its threads, and the bytes it wrote, of one turn. */
async function measure(turns) {
  // A turn adds four messages, so a short thread has one turn only.
  const each = length === '0' ? 1 : 4
  let [cpu, bytes, count] = [0, 0, 0]
  while (turns(count, cpu)) {
    const thread = await newThread()
    const [began, wrote] = [process.cpuUsage(), bytesWritten()]
    for (let i = 0; i < each; i++) await turn(thread)
    const { user, system } = process.cpuUsage(began)
    cpu += (user + system) / 1_000
    bytes += bytesWritten() - wrote
    count += each
  }
  return { cpu: cpu / count, written: bytes / count / 1_000 }
}

try {
  await measure((count, cpu) => count < 8 || (count < 200 && cpu < Number(roundMs)))
  const measured = await measure((count, cpu) => count < 8 || cpu < Number(roundMs))
  await side.close()
  // Some frameworks leave timers running.
  process.stdout.write(`\n${JSON.stringify(measured)}\n`, () => process.exit(0))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

import { execFileSync } from 'node:child_process'
import { checkBudgets, checkReaders, checkStackBudgets } from './budgets.ts'
import { deltaTables, deltaWorkloads } from './edge/deltas.ts'
import { durabilityTable } from './edge/durability.ts'
import { longThreadTable } from './edge/long-thread.ts'
import { httpTables, pacedReaders } from './http/http-tables.ts'
import { importTime } from './import-time.ts'
import { measure } from './measure.ts'
import { stackTables } from './stack/stack-tables.ts'
import { chatModelWorkloads } from './workloads/chat-model-workloads.ts'
import { contextWorkloads } from './workloads/context-workloads.ts'
import { flowWorkloads } from './workloads/flow-workloads.ts'
import { handlerWorkloads } from './workloads/handler-workloads.ts'
import { kernelWorkloads } from './workloads/kernel-workloads.ts'
import { mcpServerWorkloads } from './workloads/mcp-server-workloads.ts'
import { mcpWorkloads } from './workloads/mcp-workloads.ts'
import { otelWorkloads } from './workloads/otel-workloads.ts'
import { persistenceWorkloads } from './workloads/persistence-workloads.ts'
import { storeThroughput } from './workloads/store-throughput.ts'
import { storeWorkloads } from './workloads/store-workloads.ts'
import { subagentWorkloads } from './workloads/subagent-workloads.ts'

const check = process.argv.includes('--check')
const only = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? ''

const stores = await storeWorkloads()
const persistence = persistenceWorkloads()
const mcp = await mcpWorkloads()
const all = {
  Kernel: kernelWorkloads(),
  'Chat model': chatModelWorkloads(),
  Flow: await flowWorkloads(),
  Stores: stores.workloads,
  // The hand-written side is the same turn without records.
  Persistence: persistence.workloads,
  // The hand-written side is the same turn without the handler.
  Handlers: handlerWorkloads(),
  // The hand-written side is the same turn without the plugin.
  OpenTelemetry: otelWorkloads(),
  // The hand-written side is the same turn without the handlers.
  Context: contextWorkloads(),
  // The hand-written side is the same agent alone.
  'Sub-agents': subagentWorkloads(),
  // The hand-written side is the client of the SDK alone, or its server.
  MCP: [...mcp.workloads, ...(await mcpServerWorkloads())],
}
if (check) {
  // The hand-written side is a server of its own.
  const edge = await deltaWorkloads()
  const held = await checkBudgets([...Object.values(all).flat(), ...edge.workloads], only)
  const stackHeld = await checkStackBudgets(only)
  const served = !'http: many readers'.includes(only) || checkReaders(await pacedReaders())
  await edge[Symbol.asyncDispose]()
  await stores.close()
  await persistence.close()
  await mcp[Symbol.asyncDispose]()
  process.exit(held && stackHeld && served ? 0 : 1)
}

for (const [title, workloads] of Object.entries(all)) {
  const wanted = workloads.filter(({ name }) => name.includes(only))
  if (wanted.length === 0) continue
  console.log(`\n${title}\n\n| workload | unit | hand-written, µs | Troupe, µs | ratio |\n|---|---|---|---|---|`)
  for (const workload of wanted) {
    const { name, unit, handWritten, troupe, ratio } = await measure(workload)
    const digits = troupe < 0.1 ? 4 : 2
    console.log(
      `| ${name} | ${unit} | ${handWritten.toFixed(digits)} | ${troupe.toFixed(digits)} | ${ratio.toFixed(ratio < 2 ? 2 : 1)}x |`,
    )
  }
}

await stores.close()
await persistence.close()
await mcp[Symbol.asyncDispose]()

if ('a delta through all layers'.includes(only)) {
  for await (const table of deltaTables()) console.log(`\nAll layers\n\n${table}`)
}
if ('a turn on a long thread'.includes(only)) console.log(`\nA long thread\n\n${await longThreadTable()}`)

if ('the whole stack'.includes(only)) console.log(`\nThe whole stack\n\n${await stackTables()}`)

if ('http: many readers'.includes(only)) {
  for await (const table of httpTables()) console.log(`\nMany readers\n\n${table}`)
}

if ('durability of a step'.includes(only)) console.log(`\nDurability\n\n${await durabilityTable()}`)

if ('store: rows a second'.includes(only)) {
  console.log('\n| 1,000 small rows a batch | rows a second |\n|---|---|')
  for (const { name, rowsPerSecond } of await storeThroughput()) {
    console.log(`| ${name} | ${Math.round(rowsPerSecond).toLocaleString('en')} |`)
  }
}

if (only !== '') process.exit()

console.log('\n| import in a fresh process | ms |')
console.log('|---|---|')
for (const entry of ['index', 'run', 'history', 'memory-store']) {
  console.log(`| packages/kernel/dist/${entry}.js | ${importTime(`packages/kernel/dist/${entry}.js`).toFixed(1)} |`)
}

const child = (file: string, ...args: readonly string[]) =>
  JSON.parse(
    execFileSync(process.execPath, ['--expose-gc', new URL(file, import.meta.url).pathname, ...args], {
      encoding: 'utf8',
    }),
  )

console.log('\n| 1,000 concurrent three-step runs | wall, ms | peak memory, MB |\n|---|---|---|')
for (const side of ['hand-written', 'troupe']) {
  const { wallMs, peakMb } = child('memory/concurrent-runs.ts', side)
  console.log(`| ${side} | ${wallMs} | ${peakMb} |`)
}

const { runs, grownKb, listeners } = child('memory/many-runs.ts')
console.log(
  `\nAfter ${runs.toLocaleString('en')} runs the heap has grown by ${grownKb} kB; abort listeners left: ${listeners}.`,
)

const { children, oneMs, allMs, ratio, grownKb: grown, listeners: left } = child('memory/parallel-subagents.ts')
console.log(
  `\n${children} sub-agents at once in one parent take ${allMs} ms, one takes ${oneMs} ms: ${ratio}x. After 100 such runs the heap has grown by ${grown} kB; abort listeners left: ${left}.`,
)

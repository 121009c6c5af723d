import { importTime } from './import-time.ts'
import { kernelWorkloads } from './kernel.ts'
import { measure } from './measure.ts'

console.log('| workload | unit | hand-written, µs | Troupe, µs | ratio |')
console.log('|---|---|---|---|---|')
for (const workload of kernelWorkloads()) {
  const { name, unit, handWritten, troupe, ratio } = await measure(workload)
  console.log(`| ${name} | ${unit} | ${handWritten.toFixed(2)} | ${troupe.toFixed(2)} | ${ratio.toFixed(1)}x |`)
}

console.log('\n| import in a fresh process | ms |')
console.log('|---|---|')
for (const entry of ['index', 'run', 'history', 'memory-store']) {
  console.log(`| packages/kernel/dist/${entry}.js | ${importTime(`packages/kernel/dist/${entry}.js`).toFixed(1)} |`)
}

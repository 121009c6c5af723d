export { checkAgent, isSaidBy, observe } from './run/observe.ts'
export { openSpan } from './run/open-span.ts'
export { runNested } from './run/run-nested.ts'
export { createRunContext, startRun } from './run/start-run.ts'

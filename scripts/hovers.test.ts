import { resolve } from 'node:path'
import ts from 'typescript'
import { expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const file = resolve(root, 'packages/kernel/src/hover.ts')
const code = `
import { defineTool } from './index.ts'
import { startRun } from './run.ts'

const look = defineTool({
  name: 'look',
  description: '',
  parameters: {
    type: 'object',
    properties: { at: { type: 'string' }, times: { type: 'integer' } },
    required: ['at'],
  },
  invoke: (args) => args.at,
})
const run = startRun({ name: 'a', description: '', async *run() {} }, { messages: [] })
for await (const event of run) if (event.type === 'text-delta') event.delta
`

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2024,
  module: ts.ModuleKind.NodeNext,
  strict: true,
  exactOptionalPropertyTypes: true,
  allowImportingTsExtensions: true,
  noEmit: true,
  types: [],
  lib: ['lib.es2024.d.ts', 'lib.dom.d.ts', 'lib.esnext.disposable.d.ts'],
}

const host: ts.LanguageServiceHost = {
  getScriptFileNames: () => [file],
  getScriptVersion: () => '1',
  getScriptSnapshot: (name) => {
    const text = name === file ? code : ts.sys.readFile(name)
    return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
  },
  getCurrentDirectory: () => root,
  getCompilationSettings: () => options,
  getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
  fileExists: (name) => name === file || ts.sys.fileExists(name),
  readFile: ts.sys.readFile,
}

/** What an editor shows over a word of the code above. */
function hover(place: string): string {
  const info = service.getQuickInfoAtPosition(file, code.indexOf(place) + 1)
  return ts.displayPartsToString(info?.displayParts).replaceAll(/\s+/g, ' ')
}
const service = ts.createLanguageService(host)

it.each([
  ['args) =>', '(parameter) args: { at: string; times?: number; }'],
  ['look =', 'const look: Tool<{ at: string; times?: number; }>'],
  ['run = startRun', 'const run: Run<unknown>'],
  ['event.delta', `const event: EventOf<"text-delta">`],
])('shows a readable hover over %s', (place, shown) => {
  expect(hover(place)).toBe(shown)
})

/** Dependency direction: apps -> plugins -> kernel. `scripts/layers.test.ts` shows that each rule bites. */
const tests = '\\.(test|fixture)\\.ts$|\\.config\\.ts$'

export default {
  forbidden: [
    {
      name: 'kernel-imports-nothing',
      comment: 'The kernel has no dependency, neither of ours nor from outside.',
      severity: 'error',
      from: { path: '^packages/kernel/src/', pathNot: tests },
      to: { pathNot: '^packages/kernel/src/' },
    },
    {
      name: 'plugin-imports-kernel-only',
      comment:
        'What one plugin needs of another is a kernel contract. The stores bundle store-sql, the servers bundle http, the plugins for engines bundle durable: no other exceptions.',
      severity: 'error',
      from: { path: '^packages/(?!kernel/)([^/]+)/src/', pathNot: tests },
      to: {
        path: '^packages/',
        pathNot: [
          '^packages/kernel/',
          '^packages/$1/',
          ...['durable', 'http', 'store-sql'].map((name) => `^packages/${name}/`),
        ],
      },
    },
    {
      name: 'store-sql-is-for-the-stores',
      comment: 'store-sql is private and bundled into store-sqlite and store-postgres alone.',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/store-(sql|sqlite|postgres)/' },
      to: { path: '^packages/store-sql/' },
    },
    {
      name: 'http-is-for-the-servers',
      comment: 'http is private and bundled into ag-ui and mcp alone.',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/(http|ag-ui|mcp)/' },
      to: { path: '^packages/http/' },
    },
    {
      name: 'node-is-for-node-entries',
      comment: 'What runs in workers and browsers must not get what needs node:http.',
      severity: 'error',
      from: {
        path: '^packages/',
        pathNot: ['^packages/http/src/node', '/node(/|\\.ts$)', '/(to-node-listener|ag-ui-server)\\.ts$', tests],
      },
      to: { path: '^packages/http/src/node' },
    },
    {
      name: 'durable-is-for-the-engines',
      comment: 'durable is private and bundled into the plugins for engines alone.',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/durable' },
      to: { path: '^packages/durable/' },
    },
    {
      name: 'tests-import-testkit-at-most',
      comment: 'A test of a plugin uses the kernel, its own package and testkit; apps show plugins together.',
      severity: 'error',
      from: { path: `^packages/([^/]+)/src/.*(${tests})` },
      to: { path: '^packages/', pathNot: ['^packages/(kernel|testkit|store-sql|durable)/', '^packages/$1/'] },
    },
    {
      name: 'fixtures-are-for-tests',
      comment: 'A package is bundled from its entries, so a fixture that no source imports is not published.',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: { path: '\\.fixture\\.ts$' },
    },
    {
      name: 'kernel-tests-need-no-testkit',
      comment: 'The testkit stands on the kernel, so the kernel is tested without it.',
      severity: 'error',
      from: { path: '^packages/kernel/' },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'awilix-in-apps-only',
      comment: 'Services never see the container; wiring happens in one place.',
      severity: 'error',
      from: { pathNot: '^apps/' },
      to: { path: 'awilix' },
    },
    {
      name: 'nobody-imports-apps',
      comment: 'Apps are the top layer; only the tests of the whole use one of their fixtures.',
      severity: 'error',
      from: { pathNot: '^(apps|tests)/' },
      to: { path: '^apps/' },
    },
    {
      name: 'nobody-imports-tests',
      comment: 'What lies in tests/ is for tests: a program that a reader copies does not need it.',
      severity: 'error',
      from: { pathNot: '^(tests|scripts)/' },
      to: { path: '^tests/' },
    },
    {
      name: 'apps-share-setup-only',
      comment: 'An app can be copied with apps/setup and nothing else of the repository.',
      severity: 'error',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: ['^apps/$1/', '^apps/setup/'] },
    },
    {
      name: 'setup-knows-no-container',
      comment: 'What apps share are plain functions; wiring is what an app shows.',
      severity: 'error',
      from: { path: '^apps/setup/' },
      to: { path: 'awilix' },
    },
    {
      name: 'no-cycles',
      comment: 'Files that need each other are one file, also if they need only types.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'resolvable',
      comment: 'What cannot be found cannot be judged.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(bun|node):' },
    },
  ],
  options: {
    exclude: { path: '(^|/)(dist|node_modules/.cache)/' },
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
}

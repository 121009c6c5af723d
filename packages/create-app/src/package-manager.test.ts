import { expect, it } from 'vitest'
import { runningPackageManager, withCommandsOf } from './package-manager.ts'

it.each([
  ['npm/11.1.0 node/v24.0.0 linux x64', 'npm'],
  ['pnpm/12.18.0 npm/? node/v24.0.0', 'pnpm'],
  ['yarn/1.22.22 npm/? node/v24.0.0', 'yarn'],
  ['bun/1.3.0 npm/? node/v24.0.0', 'bun'],
  ['cnpm/9', 'npm'],
  [undefined, 'npm'],
] as const)('%s is %s', (userAgent, name) => {
  expect(runningPackageManager(userAgent)).toBe(name)
})

it.each([
  ['npm install', ['pnpm install', 'yarn install', 'bun install']],
  ['npm install zod', ['pnpm add zod', 'yarn add zod', 'bun add zod']],
  [
    'npm install --save-dev @types/node',
    ['pnpm add -D @types/node', 'yarn add -D @types/node', 'bun add -D @types/node'],
  ],
  ['npm start -- --thread work', ['pnpm start --thread work', 'yarn start --thread work', 'bun start --thread work']],
  ['`npm start`', ['`pnpm start`', '`yarn start`', '`bun start`']],
  ['npm test', ['pnpm test', 'yarn test', 'bun run test']],
  ['npm run ask -- "Hi"', ['pnpm run ask "Hi"', 'yarn run ask "Hi"', 'bun run ask "Hi"']],
  ['npm run typecheck', ['pnpm run typecheck', 'yarn run typecheck', 'bun run typecheck']],
  ['COPY package-lock.json ./', ['COPY pnpm-lock.yaml ./', 'COPY yarn.lock ./', 'COPY bun.lock ./']],
  ['npm create troupe', ['npm create troupe', 'npm create troupe', 'npm create troupe']],
])('%s is said in the words of each', (command, others) => {
  expect(withCommandsOf(command, 'npm')).toBe(command)
  expect((['pnpm', 'yarn', 'bun'] as const).map((name) => withCommandsOf(command, name))).toEqual(others)
})

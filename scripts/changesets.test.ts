import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

it('every changeset names packages of the workspace, so that a release can be made', () => {
  const manifests = globSync('{packages,examples,apps}/*/package.json', { cwd: root })
  const names = manifests.map((file) => JSON.parse(readFileSync(join(root, file), 'utf8')).name as string)
  const unknown = globSync('.changeset/*.md', { cwd: root }).flatMap((file) => {
    const [, head = ''] = readFileSync(join(root, file), 'utf8').split('---')
    const named = [...head.matchAll(/^['"](.+)['"]:/gm)].map(([, name]) => name as string)
    return named.filter((name) => !names.includes(name)).map((name) => `${file}: ${name}`)
  })
  expect(unknown).toEqual([])
})

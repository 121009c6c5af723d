import { expect, it } from 'vitest'
import { changelog, readChange } from './changelog.ts'

it('reads the packages and the text of a changeset', () => {
  const text = `---\n'@troupe/flow': minor\n"@troupe/kernel": patch\n---\n\nRuns end.\n\n---\n\nAlways.\n`
  expect(readChange(text)).toEqual({
    packages: ['@troupe/flow', '@troupe/kernel'],
    text: 'Runs end.\n\n---\n\nAlways.',
  })
})

it('has a heading for every package that changed', () => {
  expect(changelog().markdown).toMatch(/^### @troupe\/kernel$/m)
})

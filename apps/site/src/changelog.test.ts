import { expect, it } from 'vitest'
import { belowTitle, changelog, readChange } from './changelog.ts'

it('reads the packages and the text of a changeset', () => {
  const text = `---\n'@troupe/flow': minor\n"@troupe/kernel": patch\n---\n\nRuns end.\n\n---\n\nAlways.\n`
  expect(readChange(text)).toEqual({
    packages: ['@troupe/flow', '@troupe/kernel'],
    text: 'Runs end.\n\n---\n\nAlways.',
  })
})

it('has a heading for every package that changed', () => {
  expect(changelog().markdown).toMatch(/^#{2,3} @troupe\/kernel$/m)
})

it('puts the changelog of a package below the title', () => {
  const text = '# @troupe/flow\n\n## 0.2.0\n\n### Minor Changes\n\n- Issue #1 ends.\n'
  expect(belowTitle(text)).toBe('## @troupe/flow\n\n### 0.2.0\n\n#### Minor Changes\n\n- Issue #1 ends.')
})

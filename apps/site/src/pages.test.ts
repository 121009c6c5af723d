import { expect, it } from 'vitest'
import { readPages } from './pages.ts'

it('the page of a template is the README that an app with the first choices gets', () => {
  const page = readPages().find(({ source }) => source === 'templates/chat/README.md')
  expect(page?.markdown).toContain('OPENAI_API_KEY')
  expect(page?.markdown).toContain('SQLite')
  expect(page?.markdown).not.toMatch(/<!-- (?:only|end)|gone when|Ollama|DATABASE_URL/i)
})

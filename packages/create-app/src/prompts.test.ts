import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { Cancelled } from './choices.ts'
import { prompts } from './prompts.ts'

/** A terminal whose user types keys as soon as something is shown. */
function terminal(...keys: string[]) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const shown: string[] = []
  Object.assign(input, { isTTY: true, setRawMode: () => input })
  Object.assign(output, { isTTY: true, columns: 80, rows: 24 })
  output.on('data', (chunk) => {
    shown.push(String(chunk))
    const key = keys.shift()
    if (key !== undefined) setImmediate(() => input.write(key))
  })
  return { asker: prompts(input, output), shown }
}

const [ENTER, DOWN, CTRL_C] = ['\r', '\u001b[B', '\u0003']
const options = [
  { value: 'console', label: 'console', hint: 'in the terminal' },
  { value: 'team', label: 'team' },
] as const

it('Enter takes what is there', async () => {
  expect(await terminal(ENTER).asker.text('In which folder?', 'my-app', () => undefined)).toBe('my-app')
  const { asker, shown } = terminal(ENTER)
  expect(await asker.select('Which app?', options, 'console')).toBe('console')
  expect(shown.join('')).toContain('in the terminal')
})

it('a text is typed, and a value is chosen with the arrows', async () => {
  expect(await terminal('s', 'h', 'o', 'p', ENTER).asker.text('In which folder?', 'my-app', () => undefined)).toBe(
    'shop',
  )
  expect(await terminal(DOWN, ENTER).asker.select('Which app?', options, 'console')).toBe('team')
})

it('a text that is refused is asked for again', async () => {
  const { asker, shown } = terminal('x', ENTER, 'y', ENTER)
  const refuse = (text: string) => (text === 'x' ? 'x is not empty' : undefined)
  expect(await asker.text('In which folder?', 'my-app', refuse)).toBe('xy')
  expect(shown.join('')).toContain('x is not empty')
})

it('Ctrl-C stops', async () => {
  await expect(terminal(CTRL_C).asker.text('In which folder?', 'my-app', () => undefined)).rejects.toThrow(Cancelled)
  await expect(terminal(CTRL_C).asker.select('Which app?', options, 'console')).rejects.toThrow(Cancelled)
})

import { isRecord } from '../is-record.ts'

/** The sections of a summary beside its goal, as they are called in texts. */
export const SECTIONS = {
  facts: 'Facts',
  decisions: 'Decisions',
  openEnds: 'Open ends',
  files: 'Files',
} as const

export type Section = keyof typeof SECTIONS

/** One line of a summary. Contract: keeps its number, and its words until the model says that it no longer holds. */
export type SummaryLine = { readonly no: number; readonly section: Section; readonly text: string }

/** What is known of the messages that are not shown any more. Contract: plain JSON. */
export type Summary = { readonly goal: string; readonly lines: readonly SummaryLine[]; readonly last: number }

/** The summary of nothing. */
export const EMPTY: Summary = { goal: '', lines: [], last: 0 }

/** Whether a value from outside is a summary. */
export function isSummary(value: unknown): value is Summary {
  if (!isRecord(value)) return false
  const { goal, lines, last } = value
  return typeof goal === 'string' && Number.isInteger(last) && Array.isArray(lines) && lines.every(isLine)
}

function isLine(line: unknown): line is SummaryLine {
  if (!isRecord(line)) return false
  const { no, section, text } = line
  return Number.isInteger(no) && typeof text === 'string' && Object.hasOwn(SECTIONS, String(section))
}

/** A summary as text: for the model that goes on with it, or numbered, for the one that updates it. */
export function summaryText({ goal, lines }: Summary, numbered = false): string {
  const parts = goal === '' ? [] : [`## Goal\n${goal}`]
  for (const [section, title] of Object.entries(SECTIONS)) {
    const own = lines.filter((line) => line.section === section)
    if (own.length === 0) continue
    parts.push(`## ${title}\n${own.map(({ no, text }) => `- ${numbered ? `[${no}] ` : ''}${text}`).join('\n')}`)
  }
  return parts.join('\n\n')
}

/**
 * Changes a summary as the answer of a model says: it adds lines, replaces the goal, and removes what is obsolete.
 * Contract: all other lines keep their words; the oldest facts, decisions and files go first if the summary has more than `maxChars`, never open ends.
 */
export function updatedSummary(former: Summary, answer: string, maxChars: number): Summary {
  const { goal, added, obsolete } = readAnswer(answer)
  const lines = former.lines.filter(({ no }) => !obsolete.has(no))
  const known = new Set(lines.map(({ section, text }) => `${section} ${text}`))
  let { last } = former
  for (const line of added) {
    if (known.has(`${line.section} ${line.text}`)) continue
    lines.push({ no: ++last, ...line })
  }
  return { goal: goal === '' ? former.goal : goal, lines: within(lines, maxChars), last }
}

function within(lines: readonly SummaryLine[], maxChars: number): readonly SummaryLine[] {
  let excess = lines.reduce((chars, { text }) => chars + text.length, 0) - maxChars
  return lines.filter(({ section, text }) => {
    if (excess <= 0 || section === 'openEnds') return true
    excess -= text.length
    return false
  })
}

interface ReadAnswer {
  readonly goal: string
  readonly added: readonly Omit<SummaryLine, 'no'>[]
  readonly obsolete: ReadonlySet<number>
}

/** Reads an answer. Contract: takes whatever a model writes; text without headings is facts. */
function readAnswer(answer: string): ReadAnswer {
  const goal: string[] = []
  const added: { section: Section; text: string }[] = []
  const obsolete = new Set<number>()
  let current: Heading = 'facts'
  const take = (line: string) => {
    if (current === 'goal') goal.push(line)
    else if (current === 'obsolete') for (const no of line.match(/\d+/g) ?? []) obsolete.add(Number(no))
    else addTo(added, current, line)
  }
  for (const raw of answer.split('\n')) {
    const line = raw.trim()
    const heading = headingOf(line)
    if (heading) current = heading
    else if (!isNothing(line)) take(line)
  }
  return { goal: goal.join(' '), added, obsolete }
}

/** Adds a line; one that does not begin with a bullet continues the one before. */
function addTo(added: { section: Section; text: string }[], section: Section, line: string): void {
  const last = added.at(-1)
  if (line.startsWith('- ') || line.startsWith('* ')) added.push({ section, text: line.slice(2).trim() })
  else if (last?.section === section) last.text += ` ${line}`
  else added.push({ section, text: line })
}

type Heading = Section | 'goal' | 'obsolete'

const HEADINGS: ReadonlyMap<string, Heading> = new Map([
  ...Object.entries(SECTIONS).map(([section, title]) => [title.toLowerCase(), section as Section] as const),
  ['goal', 'goal'],
  ['obsolete', 'obsolete'],
])

function headingOf(line: string): Heading | undefined {
  if (!line.startsWith('#')) return undefined
  return HEADINGS.get(line.replaceAll('#', '').replaceAll(':', '').trim().toLowerCase())
}

/** What models write under a heading without entries. */
function isNothing(line: string): boolean {
  const word = line
    .replaceAll(/[-*().]/g, '')
    .trim()
    .toLowerCase()
  return word === 'none' || word === 'nothing' || word === ''
}

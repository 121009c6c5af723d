import type { ReactNode } from 'react'
import type { CallStatus } from '../thread/item.ts'
import type { Run } from '../thread/run.ts'

/** The texts of the interface, which an app can replace, for example with another language. */
export interface Labels {
  readonly conversation: string
  readonly you: string
  readonly message: string
  readonly writeMessage: string
  readonly answerFirst: string
  readonly send: string
  readonly stop: string
  readonly attach: string
  readonly remove: (name: string) => string
  readonly working: string
  readonly thinking: string
  readonly notSent: string
  readonly transfersTo: (agent: string, target: ReactNode) => ReactNode
  /** The name of the part of the conversation in which a sub-agent works. */
  readonly runOf: (tool: string) => string
  readonly call: Readonly<Record<CallStatus, string>>
  readonly question: string
  readonly mayCall: (agent: string, tool: ReactNode) => ReactNode
  readonly mayGoOn: string
  readonly allow: string
  readonly allowWithChanges: string
  readonly refuse: string
  readonly edit: string
  readonly alwaysInThread: string
  readonly alwaysForTool: string
  readonly waits: (agent: string) => string
  readonly notJson: string
  readonly whatShallItBe: string
  readonly answer: string
  readonly neverMind: string
  readonly expired: string
  readonly editMessage: string
  readonly save: string
  readonly cancel: string
  readonly answerAgain: string
  readonly continue: string
  readonly tryAgain: string
  /** Texts of notes and errors by their code; a code that is missing here shows the text of the server, or that of `failed`. */
  readonly notes: Readonly<Record<string, string>>
  readonly nothingRan: string
  readonly run: (number: number) => string
  readonly runStatus: Readonly<Record<Run['status'], string>>
  readonly thisConversation: string
  readonly tokens: (input: string, output: string) => string
  readonly trace: (id: string) => string
  readonly agents: string
  readonly getsFirst: string
  readonly getsTransfers: string
  readonly transfersBack: string
  readonly stepOfWorkflow: string
  readonly calledAsTool: string
  readonly isRunning: (how: string) => string
  readonly conversations: string
  readonly newConversation: string
  readonly older: string
  readonly untitled: string
  readonly rename: (title: string) => string
  readonly delete: (title: string) => string
  readonly deleteReally: (title: string) => string
  readonly running: string
  readonly brokeOff: string
  readonly waitsForYou: string
}

/** The texts in English. */
export const ENGLISH: Labels = {
  conversation: 'Conversation',
  you: 'You',
  message: 'Message',
  writeMessage: 'Write a message',
  answerFirst: 'Answer the question above first',
  send: 'Send',
  stop: 'Stop',
  attach: 'Attach files',
  remove: (name) => `Remove ${name}`,
  working: 'Working',
  thinking: 'Thinking',
  notSent: 'Not sent',
  transfersTo: (agent, target) => [`${agent} transfers to `, target],
  runOf: (tool) => `${tool} run`,
  call: { running: 'running', waiting: 'waits', done: 'done', failed: 'failed', stopped: 'stopped' },
  question: 'Question',
  mayCall: (agent, tool) => [`May ${agent} call `, tool, '?'],
  mayGoOn: 'May this go on?',
  allow: 'Allow',
  allowWithChanges: 'Allow with changes',
  refuse: 'Refuse',
  edit: 'Edit',
  alwaysInThread: 'Always in this chat',
  alwaysForTool: 'Always for this tool',
  waits: (agent) => `${agent} waits`,
  notJson: 'This is not JSON.',
  whatShallItBe: 'What shall it be?',
  answer: 'Answer',
  neverMind: 'Never mind',
  expired: 'It is too late to answer this.',
  editMessage: 'Change this message',
  save: 'Send again',
  cancel: 'Cancel',
  answerAgain: 'Answer again',
  continue: 'Continue',
  tryAgain: 'Try again',
  notes: {
    stopped: 'Stopped.',
    'cut-off': 'The answer was cut off.',
    'went-on': 'The server was stopped here. The run went on.',
    failed: 'The run failed.',
    UNREACHABLE: 'The server cannot be reached. Try again when it is back.',
    NO_ANSWER: 'The server could not answer. Try again.',
    UNAUTHENTICATED: 'You are not signed in. Sign in, then try again.',
  },
  nothingRan: 'Nothing has run yet.',
  run: (number) => `Run ${number}`,
  runStatus: { running: 'running', done: 'complete', waits: 'waits', stopped: 'stopped', failed: 'failed' },
  thisConversation: 'This conversation',
  tokens: (input, output) => `${input} tokens in, ${output} out`,
  trace: (id) => `Trace ${id}`,
  agents: 'Agents',
  getsFirst: 'gets every message first',
  getsTransfers: 'gets transfers',
  transfersBack: 'gets transfers, and can transfer back',
  stepOfWorkflow: 'a step of the workflow',
  calledAsTool: 'called as a tool',
  isRunning: (how) => `${how}, running`,
  conversations: 'Conversations',
  newConversation: 'New conversation',
  older: 'Older conversations',
  untitled: 'Untitled',
  rename: (title) => `Rename ${title}`,
  delete: (title) => `Delete ${title}`,
  deleteReally: (title) => `Delete “${title}”?`,
  running: 'running',
  brokeOff: 'broke off',
  waitsForYou: 'waits for you',
}

import { HttpAgent } from '@ag-ui/client-0'
import type { AssistantRuntime, ThreadMessage } from '@assistant-ui/core'
import { AssistantRuntimeProvider, useAssistantTool } from '@assistant-ui/core/react'
import type * as assistantUi from '@assistant-ui/react-ag-ui'
import { parseHTML } from 'linkedom'
import { createElement, type ReactNode } from 'react'
import { expect, vi } from 'vitest'

/** The part of assistant-ui that connects a page to an AG-UI server. */
export type AssistantUi = Pick<typeof assistantUi, 'useAgUiRuntime' | 'useAgUiSteerAway'>

/** A page that is built with assistant-ui: each method is what a button of its does, and waits for the run that it starts. */
export interface AssistantUiPage extends AsyncDisposable {
  readonly errors: readonly string[]
  /** What the page shows, as `role: text`, with calls and their results. */
  readonly shown: readonly string[]
  send(text: string): Promise<void>
  /** Sends a text, and stops the run when the page shows something. */
  sendAndStop(text: string, shown: string): Promise<void>
  reload(): Promise<void>
  edit(shown: string, text: string): Promise<void>
  approve(approved: boolean, reason?: string): Promise<void>
  /** Sends a message instead of an answer to the open question. */
  steerAway(text: string): Promise<void>
  /** Waits until the page shows these last lines, and nothing runs. */
  shows(...lines: readonly string[]): Promise<void>
}

const TOOL = {
  toolName: 'set_theme',
  description: 'Makes the page light or dark.',
  parameters: { type: 'object', properties: { theme: { type: 'string' } }, required: ['theme'] },
  execute: ({ theme }: { theme: string }) => `The page is ${theme}.`,
} as const

/** The part of a window that is used here; the types of the DOM are not loaded. */
interface ParsedWindow {
  readonly document: { querySelector(selector: string): unknown }
}

/** The official client, which counts the runs that have ended. */
class CountingAgent extends HttpAgent {
  ended = 0

  override async runAgent(...parameters: Parameters<HttpAgent['runAgent']>): ReturnType<HttpAgent['runAgent']> {
    try {
      return await super.runAgent(...parameters)
    } finally {
      this.ended++
    }
  }
}

const WAIT = { timeout: 10_000, interval: 2 }

/** Opens a page of assistant-ui on an AG-UI server. */
export async function openPage(url: string, threadId: string, parts: AssistantUi): Promise<AssistantUiPage> {
  const window = parseHTML('<html><body><main></main></body></html>') as unknown as ParsedWindow
  Object.assign(globalThis, { window, document: window.document })
  // It looks for a window when it is loaded.
  const { createRoot } = await import('react-dom/client')
  const errors: string[] = []
  const agent = new CountingAgent({ url, threadId })
  const options = { agent, onError: (error: Error) => void errors.push(error.message) }
  let runtime!: AssistantRuntime
  let steerAway!: ReturnType<AssistantUi['useAgUiSteerAway']>
  function Inside(): ReactNode {
    useAssistantTool(TOOL as never)
    steerAway = parts.useAgUiSteerAway()
    return null
  }
  function Page(): ReactNode {
    runtime = parts.useAgUiRuntime(options as never)
    return createElement(AssistantRuntimeProvider, { runtime, children: createElement(Inside) })
  }
  const root = createRoot(window.document.querySelector('main') as never)
  root.render(createElement(Page))
  const until = (holds: () => boolean) => vi.waitUntil(holds, WAIT)
  await until(() => runtime?.thread.getModelContext().tools?.[TOOL.toolName] !== undefined)
  const messages = () => runtime.thread.getState().messages
  const shown = () => messages().map(line)
  const isIdle = () => !runtime.thread.getState().isRunning
  const run = async (start: () => unknown) => {
    const { ended } = agent
    await start()
    await until(() => agent.ended > ended)
  }
  return {
    errors,
    get shown() {
      return shown()
    },
    send: (text) => run(() => runtime.thread.append(text)),
    async sendAndStop(text, partial) {
      const { ended } = agent
      runtime.thread.append(text)
      await until(() => shown().at(-1) === partial)
      runtime.thread.cancelRun()
      await until(() => agent.ended > ended && isIdle())
    },
    reload: () => run(() => runtime.thread.getMessageByIndex(messages().length - 1).reload()),
    edit: (old, text) =>
      run(() => {
        const { composer } = runtime.thread.getMessageByIndex(shown().indexOf(old))
        composer.beginEdit()
        composer.setText(text)
        composer.send()
      }),
    async approve(approved, reason) {
      const gate = () => {
        const index = messages().findLastIndex(({ content }) => content.some(isCall))
        const part = messages()[index]?.content.findIndex(isCall) ?? -1
        return part < 0 ? undefined : runtime.thread.getMessageByIndex(index).getMessagePartByIndex(part)
      }
      await until(() => isPending(gate()?.getState()))
      await run(() => gate()?.respondToToolApproval({ approved, ...(reason !== undefined && { reason }) }))
    },
    steerAway: (text) => run(() => steerAway(text)),
    async shows(...lines) {
      await vi.waitFor(() => expect(shown().slice(-lines.length)).toEqual(lines), WAIT)
      await until(isIdle)
    },
    async [Symbol.asyncDispose]() {
      root.unmount()
    },
  }
}

function isCall({ type }: { readonly type: string }): boolean {
  return type === 'tool-call'
}

/** Whether a call waits for an approval. */
function isPending(part: object | undefined): boolean {
  const { approval } = (part ?? {}) as { readonly approval?: { readonly approved?: boolean } }
  return approval !== undefined && approval.approved === undefined
}

/** A message as one line. */
function line({ role, content }: ThreadMessage): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text
    return part.type === 'tool-call' ? `[${part.toolName} ${JSON.stringify(part.result ?? null)}]` : `[${part.type}]`
  })
  return `${role}: ${parts.join(' ')}`
}

import { AbstractAgent, defaultApplyEvents, enforceEvents, transformChunks, verifyEvents } from '@ag-ui/client'
import * as client0 from '@ag-ui/client-0'
import type { BaseEvent } from '@ag-ui/core'
import type { AgentEvent } from '@troupe/kernel'
import { from, lastValueFrom, type Observable, toArray } from 'rxjs'
import type { AgUiEvent, AgUiMessage } from './protocol.ts'
import { eventTranslator, type TranslatorOptions } from './translate/event-translator.ts'
import { gate } from './write/gate.ts'
import { strictVerifier } from './write/strict-verifier.ts'

/** A client that follows a run. Contract: fails at the first event that a correct stream never has. */
export interface Follower {
  take(event: AgentEvent): void
  /** Everything that the client got. */
  end(): readonly AgUiEvent[]
}

/** Translates events as they come, and verifies each of them. */
export function follower(options: Partial<TranslatorOptions> = {}): Follower {
  const seen: AgUiEvent[] = []
  const translator = eventTranslator({ threadId: 't1', runId: 'r1', state: {}, ...options })
  const verifier = strictVerifier({ messages: options.history ?? options.input?.messages ?? [] })
  const send = (events: readonly AgUiEvent[]) => {
    for (const event of events) {
      const sent: AgUiEvent = JSON.parse(JSON.stringify(event))
      seen.push(sent)
      verifier.see(sent)
    }
  }
  return {
    take: (event) => send(translator.translate(event)),
    end() {
      send(translator.end())
      verifier.end()
      return seen
    },
  }
}

/** The events of a run as a client gets them. */
export function wireOf(events: readonly AgentEvent[], options: Partial<TranslatorOptions> = {}): readonly AgUiEvent[] {
  const client = follower(options)
  for (const event of events) client.take(event)
  return client.end()
}

/** The events that the official client of 1.0 accepts. Contract: rejects if the client does. */
export function official(events: readonly AgUiEvent[]): Promise<readonly AgUiEvent[]> {
  const source = from(events) as Observable<BaseEvent>
  const checked = source.pipe(enforceEvents(), transformChunks(), verifyEvents(), toArray())
  return lastValueFrom(checked) as Promise<unknown> as Promise<readonly AgUiEvent[]>
}

/** The same for a client of 0.0.59, which names no version and reads bytes. */
export function official0(events: readonly AgUiEvent[]): Promise<readonly unknown[]> {
  const shown = events.flatMap((event) => gate(event, undefined, '0.0.59') ?? [])
  const body = shown.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const headers = { 'content-type': 'text/event-stream' }
  const response = client0.runHttpRequest(() => Promise.resolve(new Response(body, { headers })))
  const checked = client0
    .transformHttpEventStream(response)
    .pipe(client0.transformChunks(false), client0.verifyEvents(false), toArray())
  return lastValueFrom(checked)
}

/** The same for our own verifier. */
export function strict(events: readonly AgUiEvent[], messages: readonly AgUiMessage[] = []): void {
  const verifier = strictVerifier({ messages })
  for (const event of events) verifier.see(event)
  verifier.end()
}

class Front extends AbstractAgent {
  run(): never {
    throw new Error('only its state is used')
  }
}

/** The messages and the state that the official client has in the end. */
export async function clientOf(
  events: readonly AgUiEvent[],
  messages: readonly AgUiMessage[] = [],
): Promise<{ messages: readonly AgUiMessage[]; state: unknown }> {
  const input = { threadId: 't1', runId: 'r1', state: {}, messages: [...messages], tools: [], context: [] }
  const agent = new Front({ initialMessages: [...messages] })
  const source = from(events) as Observable<BaseEvent>
  const changes = await lastValueFrom(defaultApplyEvents(input, source, agent, []).pipe(toArray()))
  return {
    messages: changes.findLast((change) => change.messages)?.messages ?? messages,
    state: changes.findLast((change) => change.state !== undefined)?.state,
  }
}

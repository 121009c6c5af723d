import { AG_UI_INPUT } from '@troupe/ag-ui'
import { chatModelAgent } from '@troupe/chat-model'
import { restateRunner } from '@troupe/durable-restate'
import { runner } from '@troupe/flow'
import { messageLifecycle, toolLifecycle } from '@troupe/persistence'
import { type Registrations, singleton } from '../app.ts'
import { invoiceTools } from '../tools/invoices.ts'

/** The agent, and what carries its runs out and records them. */
export const agentModule: Registrations<'agent' | 'messages' | 'callbacks' | 'runner'> = {
  agent: singleton(({ model, telemetry }) =>
    chatModelAgent({
      name: 'clerk',
      description: 'Knows and pays invoices.',
      instruction: 'You are a clerk for invoices. Answer in one or two short sentences.',
      model,
      tools: invoiceTools(),
      handlers: telemetry.handlers,
    }),
  ),
  messages: singleton(({ store, log }) => messageLifecycle({ store, report: log.report })),
  callbacks: singleton(({ messages, telemetry }) => [...telemetry.callbacks, messages, toolLifecycle({ messages })]),
  runner: singleton(({ config: { ingress }, agent, store, callbacks, log }) =>
    ingress
      ? restateRunner({ agent, ingress, store, shared: [AG_UI_INPUT] })
      : runner({ agent, store, callbacks, report: log.report }),
  ),
}

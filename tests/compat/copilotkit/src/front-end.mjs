import { CopilotKitCore, ProxiedCopilotRuntimeAgent } from '@copilotkit/core'

/** The front end of CopilotKit as far as it needs no page: the core that its React and Angular packages stand on. */
export class FrontEnd {
  events = []
  errors = []

  constructor({ url, transport, user = 'ann', threadId = crypto.randomUUID(), agentId = 'troupe', tools = [] }) {
    const headers = user ? { authorization: `Bearer ${user}` } : {}
    this.agent = new ProxiedCopilotRuntimeAgent({ runtimeUrl: url, transport, agentId, threadId, headers })
    this.core = new CopilotKitCore({
      runtimeUrl: url,
      runtimeTransport: transport,
      headers,
      tools,
      // Outside of a page the core does not ask the runtime which agents there are.
      agents__unsafe_dev_only: { [agentId]: this.agent },
    })
    this.agent.subscribe({ onEvent: ({ event }) => void this.events.push(event) })
    this.core.subscribe({ onError: ({ error }) => void this.errors.push(error) })
  }

  /** Sends a message, or goes on without one; runs the tools of the page and what follows from them. */
  async say(content, parameters = {}) {
    if (content !== undefined) this.agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    this.events.length = 0
    this.errors.length = 0
    await this.core.runAgent({ agent: this.agent, ...parameters })
    return this.text
  }

  /** What a page does when it is opened again. */
  async connect() {
    this.events.length = 0
    await this.core.connectAgent({ agent: this.agent })
  }

  /** Contract: resolves as soon as it holds, while a run may go on; whoever checks has a limit for it. */
  async until(holds) {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
  }

  stop() {
    this.core.stopAgent({ agent: this.agent })
  }

  of(type) {
    return this.events.filter((event) => event.type === type)
  }

  get types() {
    return this.events.map(({ type }) => type)
  }

  /** The text of the last answer as the page has it. */
  get text() {
    return this.agent.messages.findLast(({ role }) => role === 'assistant')?.content
  }
}

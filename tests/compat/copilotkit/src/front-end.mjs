import { CopilotKitCore, ProxiedCopilotRuntimeAgent } from '@copilotkit/core'

/** The front end of CopilotKit without a page: the core under its React and Angular packages. */
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
      // Outside of a page the core does not ask the runtime for its agents.
      agents__unsafe_dev_only: { [agentId]: this.agent },
    })
    this.agent.subscribe({ onEvent: ({ event }) => void this.events.push(event) })
    this.core.subscribe({ onError: ({ error }) => void this.errors.push(error) })
  }

  /** Sends a message, or continues without one; runs the tools of the page and the runs that follow. */
  async say(content, parameters = {}) {
    if (content !== undefined) this.agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
    this.events.length = 0
    this.errors.length = 0
    await this.core.runAgent({ agent: this.agent, ...parameters })
    return this.text
  }

  /** Does what a page does when it is opened again. */
  async connect() {
    this.events.length = 0
    await this.core.connectAgent({ agent: this.agent })
  }

  /** Waits until a condition holds, while a run may continue. Contract: the caller limits the time. */
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

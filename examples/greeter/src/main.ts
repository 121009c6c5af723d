import { type Agent, say, textOf } from '@troupe/kernel'
import { startRun } from '@troupe/kernel/run'

const greeter: Agent = {
  name: 'greeter',
  description: 'Greets everybody who writes.',
  async *run({ messages }, ctx) {
    yield* say(ctx, `You said: ${messages.map(({ content }) => textOf(content)).join(' ')}`)
  },
}

const run = startRun(greeter, 'Hello!')
for await (const event of run) console.log(event.type, event.type === 'text-delta' ? event.delta : '')

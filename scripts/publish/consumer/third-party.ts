import { whisper } from '@acme/troupe-handler-whisper'
import { chatModelAgent } from '@troupe/chat-model'
import { startRun } from '@troupe/kernel/run'
import { standIn } from './stand-in.ts'

const agent = chatModelAgent({ name: 'helper', model: standIn, handlers: [whisper({ suffix: '!!!' })] })
const { text } = await startRun(agent, 'Hello')
console.log('says', text)

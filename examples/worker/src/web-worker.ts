import { ask } from './ask.ts'

addEventListener('message', async ({ data }: MessageEvent<string>) => postMessage(await ask(data)))

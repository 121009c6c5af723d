import { turn } from './turn.ts'

addEventListener('message', async ({ data }: MessageEvent<string>) => postMessage(await turn(data)))

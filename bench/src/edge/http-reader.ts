/** Reads answers over HTTP in a process of its own, so that what reading takes is not counted; started by remote-reader.ts. */
import { Agent, request } from 'node:http'

/** One request, and what came of it. */
export interface Errand {
  readonly url: string
  readonly body: string
}
export interface Read {
  readonly deltas: number
  readonly finished: boolean
  readonly status: number
}

const agent = new Agent({ keepAlive: true })

function read({ url, body }: Errand): Promise<Read> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sent = request(url, { method: 'POST', headers, agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          deltas: text.split('"TEXT_MESSAGE_CONTENT"').length - 1,
          finished: text.includes('"RUN_FINISHED"'),
          status: response.statusCode ?? 0,
        })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

process.on('disconnect', () => process.exit(0))
process.on('message', async (errand: Errand) => process.send?.(await read(errand)))
process.send?.('ready')

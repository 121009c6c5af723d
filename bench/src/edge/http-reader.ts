/** Reads answers over HTTP in its own process, so that the cost of reading is not counted; remote-reader.ts starts it. */
import { Agent, request } from 'node:http'

/** A request to send. */
export interface ReadTask {
  readonly url: string
  readonly body: string
}
/** The answer that was read. */
export interface ReadResult {
  readonly deltas: number
  readonly finished: boolean
  readonly status: number
}

const agent = new Agent({ keepAlive: true })

function read({ url, body }: ReadTask): Promise<ReadResult> {
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
    // The server may close a kept connection at the moment a request takes it.
    sent.on('error', (error) => (sent.reusedSocket ? resolve(read({ url, body })) : reject(error)))
    sent.end(body)
  })
}

process.on('disconnect', () => process.exit(0))
process.on('message', async (task: ReadTask) => process.send?.(await read(task)))
process.send?.('ready')

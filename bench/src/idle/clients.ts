/** Opens streams in its own process and closes them on command; server.ts starts it. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A command for the clients. */
export type ClientCommand =
  /** Opens a stream for each request, which is sent as it is; the reply comes when each stream has its first delta. */
  { readonly open: readonly string[]; readonly port: number } | { readonly close: true }

/** Streams opened at a time, so that the queue of the listening socket is long enough. */
const AT_ONCE = 100

const sockets: Socket[] = []
let pinged = 0

function open(port: number, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    sockets.push(socket)
    let received = ''
    let pings = 0
    let started = false
    socket.on('data', (chunk) => {
      const text = chunk.toString()
      if (text.includes(': ping') && pings++ === 0) pinged++
      if (started) return
      received += text
      if (!received.includes('TEXT_MESSAGE_CONTENT')) return
      started = true
      resolve()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed: ${received.slice(0, 300)}`)))
  })
}

process.on('disconnect', () => process.exit(0))
process.on('message', async (command: ClientCommand) => {
  if ('open' in command) {
    for (let i = 0; i < command.open.length; i += AT_ONCE) {
      await Promise.all(command.open.slice(i, i + AT_ONCE).map((request) => open(command.port, request)))
    }
    process.send?.({ open: sockets.length })
  } else {
    const all = sockets.splice(0)
    await Promise.all(all.map((socket) => once(socket.destroy(), 'close')))
    process.send?.({ pinged })
    pinged = 0
  }
})

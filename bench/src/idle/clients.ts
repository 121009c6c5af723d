/** Opens streams in a process of its own, and leaves when it is told to; started by server.ts. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** What the clients are told. */
export type Order =
  /** Opens a stream for each request, which is sent as it is. Answered when each has its first delta. */
  { readonly open: readonly string[]; readonly port: number } | { readonly leave: true }

/** How many at a time, so that the queue of the listening socket is long enough. */
const AT_ONCE = 100

const sockets: Socket[] = []
let pinged = 0

function open(port: number, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    sockets.push(socket)
    let begun = ''
    let pings = 0
    socket.on('data', (chunk) => {
      const text = chunk.toString()
      if (text.includes(': ping') && pings++ === 0) pinged++
      if (begun === 'yes') return
      begun += text
      if (!begun.includes('TEXT_MESSAGE_CONTENT')) return
      begun = 'yes'
      resolve()
    })
    socket.on('error', reject)
    socket.on('close', () => reject(new Error(`closed: ${begun.slice(0, 300)}`)))
  })
}

process.on('disconnect', () => process.exit(0))
process.on('message', async (order: Order) => {
  if ('open' in order) {
    for (let i = 0; i < order.open.length; i += AT_ONCE) {
      await Promise.all(order.open.slice(i, i + AT_ONCE).map((request) => open(order.port, request)))
    }
    process.send?.({ open: sockets.length })
  } else {
    const all = sockets.splice(0)
    await Promise.all(all.map((socket) => once(socket.destroy(), 'close')))
    process.send?.({ pinged })
    pinged = 0
  }
})

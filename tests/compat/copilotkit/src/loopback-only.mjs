import { Socket } from 'node:net'

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

/**
 * Refuses every connection of this process that would leave the machine, and returns a list of their targets.
 * Contract: called before anything else opens a socket.
 */
export function loopbackOnly() {
  const refused = []
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (...args) {
    const [first] = args
    // Node itself passes the arguments as one list.
    const [target, host] = Array.isArray(first) ? first : args
    const { path, host: named = 'localhost', port } = typeof target === 'object' ? target : { host, port: target }
    if (path || LOOPBACK.test(named)) return connect.apply(this, args)
    refused.push(`${named}:${port}`)
    // Without a listener the error would end the process.
    this.on('error', () => undefined)
    this.destroy(new Error(`refused: ${named} is not this machine`))
    return this
  }
  return refused
}

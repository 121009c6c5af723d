/**
 * Whether a text is a web address, by the rules of `format: 'url'` in `@cfworker/json-schema`: http, https or ftp, then a public IPv4 address or a host name with a top-level domain.
 * Contract: takes linear time; the pattern of that library takes exponential time for some texts.
 * @example isUrl('https://example.org') // true
 */
export function isUrl(text: string): boolean {
  const scheme = SCHEME.exec(text)?.[0]
  if (scheme === undefined || /\s/.test(text)) return false
  // A user name may contain an @, and so may a path: the host may begin after any of them, but a user name is not empty.
  const pieces = text.slice(scheme.length).split('@')
  return pieces.some((piece, i) => !(i === 1 && pieces[0] === '') && beginsWithHost(piece, i < pieces.length - 1))
}

/** Whether a host, a port and a path are at the beginning of a piece. Contract: only a path may go on after the piece. */
function beginsWithHost(piece: string, goesOn: boolean): boolean {
  const slash = piece.indexOf('/')
  if (slash === -1) return !goesOn && isHost(piece)
  return isHost(piece.slice(0, slash))
}

function isHost(host: string): boolean {
  const name = host.replace(/:\d{2,5}$/, '')
  return IPV4.test(name) ? !PRIVATE.test(name) : NAME.test(name)
}

const SCHEME = /^(?:https?|ftp):\/\//i
const IPV4 =
  /^(?:[1-9]\d?|1\d\d|2[01]\d|22[0-3])(?:\.(?:1?\d{1,2}|2[0-4]\d|25[0-5])){2}\.(?:[1-9]\d?|1\d\d|2[0-4]\d|25[0-4])$/
const PRIVATE = /^(?:10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)/
const NAME =
  /^[a-z\u{a1}-\u{ffff}\d]+(?:-[a-z\u{a1}-\u{ffff}\d]+)*(?:\.[a-z\u{a1}-\u{ffff}\d]+(?:-[a-z\u{a1}-\u{ffff}\d]+)*)*\.[a-z\u{a1}-\u{ffff}]{2,}$/iu

/** Prints the token of a user: `npm run token -- ann`. */
import { tokensWith } from './tokens.ts'

const [, , user = ''] = process.argv
const { TOKEN_SECRET } = process.env
if (!/^[\w-]+$/.test(user) || !TOKEN_SECRET) {
  console.error('Usage: TOKEN_SECRET=… npm run token -- ann')
  process.exitCode = 1
} else console.log(tokensWith(TOKEN_SECRET).tokenOf(user))

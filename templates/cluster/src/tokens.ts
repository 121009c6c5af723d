import { createHmac, timingSafeEqual } from 'node:crypto'

/** Tokens of users: a name with a signature. Put your own sign-in in their place. */
export interface Tokens {
  tokenOf(user: string): string
  /** The user of a request; without one the answer is 401. */
  authenticate(request: Request): { readonly user: string } | undefined
}

/** Makes and checks tokens with a secret. */
export function tokensWith(secret: string): Tokens {
  const signed = (user: string) => createHmac('sha256', secret).update(user).digest()
  return {
    tokenOf: (user) => `${user}.${signed(user).toString('base64url')}`,
    authenticate({ headers }) {
      const [, user, signature] = /^Bearer ([\w-]+)\.([\w-]{43})$/.exec(headers.get('authorization') ?? '') ?? []
      if (!user || !signature) return undefined
      return timingSafeEqual(Buffer.from(signature, 'base64url'), signed(user)) ? { user } : undefined
    },
  }
}

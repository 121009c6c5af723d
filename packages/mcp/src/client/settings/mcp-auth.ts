import type { Awaitable, Owner } from '@troupe/kernel'

/** How a person signs in to a server: OAuth 2.1 with PKCE. */
export interface McpAuth {
  /** The address of the app that the person comes back to. */
  readonly redirectUrl: string
  /** The name that the person sees. @default 'Troupe' */
  readonly clientName?: string
  /** A client that is registered already. @default the client registers itself */
  readonly client?: { readonly id: string; readonly secret?: string }
  /** The address of a document that describes the client, for servers that take one as its id. */
  readonly clientMetadataUrl?: string
  /** What to ask for, if the server does not say it. */
  readonly scope?: string
}

/** Keeps what a sign-in needs and gives, as text. Contract: of an owner and of nobody else; it holds secrets, so encrypt what is stored. */
export interface McpTokenStore {
  read(owner: Owner, server: string): Awaitable<string | undefined>
  write(owner: Owner, server: string, text: string): Awaitable<void>
}

/**
 * Keeps tokens in the memory of the process: everybody signs in again after a restart.
 * @example mcpTools({ servers: {}, tokens: memoryTokens() })
 */
export function memoryTokens(): McpTokenStore {
  const texts = new Map<string, string>()
  const keyOf = ({ app, user }: Owner, server: string) => JSON.stringify([app, user, server])
  return {
    read: (owner, server) => texts.get(keyOf(owner, server)),
    write: (owner, server, text) => void texts.set(keyOf(owner, server), text),
  }
}

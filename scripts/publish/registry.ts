import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { runServer } from 'verdaccio'
import { execute } from './machine.ts'

/** A registry of npm packages on loopback. */
export interface Registry {
  readonly url: string
  /** The `.npmrc` of a user who publishes to it. */
  readonly npmrc: string
  stop(): Promise<void>
}

/** Our packages, and those of the third party in the test. Contract: the registry never looks for them outside. */
const HERE = ['@troupe/*', 'create-troupe', 'create-troupe-plugin', 'troupe-handler-*', '@acme/*']

/** Starts an empty registry that keeps its data in a folder and gets the packages of others from the machine's registry. */
export async function startRegistry(folder: string): Promise<Registry> {
  const setting = async (name: string) => (await execute('.', process.env, 'npm', ['config', 'get', name])).trim()
  const cafile = await setting('cafile')
  const access = { access: '$all', publish: '$authenticated' }
  const server = await runServer({
    // Relative paths start in the folder of this file, which does not exist.
    configPath: join(folder, 'config.yaml'),
    storage: join(folder, 'storage'),
    auth: { htpasswd: { file: join(folder, 'htpasswd') } },
    uplinks: {
      outside: {
        url: await setting('registry'),
        // This registry has to trust the same certificates as npm.
        ...(existsSync(cafile) && { ca: readFileSync(cafile, 'utf8') }),
        timeout: '60s',
        maxage: '1d',
      },
    },
    packages: {
      ...Object.fromEntries(HERE.map((pattern) => [pattern, access])),
      '**': { access: '$all', publish: [], proxy: 'outside' },
    },
    // With signed tokens no request needs a password check.
    security: { api: { jwt: { sign: { expiresIn: '1d' } } } },
    web: { enable: false },
    log: { type: 'stdout', format: 'json', level: 'error' },
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/`
  return {
    url,
    npmrc: `registry=${url}\n//127.0.0.1:${port}/:_authToken=${await signUp(url)}\naudit=false\nfund=false\nupdate-notifier=false\n`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function signUp(url: string): Promise<string> {
  const response = await fetch(`${url}-/user/org.couchdb.user:ann`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ann', password: 'a password of no value' }),
  })
  const { token } = (await response.json()) as { token: string }
  return token
}

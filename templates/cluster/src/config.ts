/** The name under which conversations are kept. */
export const APP_NAME = 'clerk'

/** The settings of the app, from the environment. */
export interface Config {
  readonly host: string
  readonly port: number
  /** Without it every request is the user's of this machine. */
  readonly tokenSecret: string | undefined
  readonly database: Database
  /** The address of Restate's ingress: runs are ordered there, and not carried out by the server. */
  readonly ingress: string | undefined
}

/** Where conversations are kept. */
export type Database =
  | { readonly type: 'sqlite'; readonly path: string }
  /** `direct` is where LISTEN works, if `url` is a pooler. */
  | { readonly type: 'postgres'; readonly url: string; readonly direct: string | undefined }

/** The settings of a worker that carries runs out for Restate. */
export interface WorkerConfig extends Config {
  readonly workerPort: number
  /** Where the worker tells Restate about the workers; without it somebody else does. */
  readonly admin: string | undefined
  /** The one address of all workers. */
  readonly workers: string
}

/** Reads the environment. Throws for what cannot work. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const { DATABASE_URL: url, DATABASE_DIRECT_URL: direct, RESTATE_INGRESS: ingress } = env
  if (ingress && !url) throw new Error('RESTATE_INGRESS needs DATABASE_URL: servers and workers share the database')
  return {
    host: env.HOST || '127.0.0.1',
    port: portOf(env, 'PORT', 8000),
    tokenSecret: env.TOKEN_SECRET || undefined,
    database: url
      ? { type: 'postgres', url, direct: direct || undefined }
      : { type: 'sqlite', path: env.DATABASE_FILE || 'app.db' },
    ingress: ingress || undefined,
  }
}

/** Reads the environment of a worker. Throws for what cannot work. */
export function readWorkerConfig(env: NodeJS.ProcessEnv): WorkerConfig {
  const config = readConfig(env)
  if (config.database.type === 'sqlite')
    throw new Error('DATABASE_URL is missing: servers and workers share the database')
  const workerPort = portOf(env, 'WORKER_PORT', 9080)
  const workers = env.WORKERS || `http://127.0.0.1:${workerPort}`
  return { ...config, ingress: undefined, workerPort, admin: env.RESTATE_ADMIN || undefined, workers }
}

/** Says in words how runs survive with these settings. */
export function describeRuns({ database, ingress }: Config): { readonly store: string; readonly runs: string } {
  const store =
    database.type === 'sqlite'
      ? `SQLite in ${database.path}, for one replica`
      : 'PostgreSQL, for any number of replicas'
  const runs = ingress
    ? 'durable on Restate: workers carry them out'
    : 'in this process: a run whose process died goes on when a client comes back (lostRuns)'
  return { store, runs }
}

function portOf(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const port = Number(env[name] || otherwise)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new Error(`${name} must be a port, got ${env[name]}`)
}

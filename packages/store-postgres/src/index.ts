export {
  type PostgresClient,
  type PostgresPool,
  type PostgresStore,
  type PostgresStoreOptions,
  postgresStore,
} from './postgres-store.ts'

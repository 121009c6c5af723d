export type { ContentKind, Redact } from './content.ts'
export type { Otel, OtelOptions, TraceIds } from './otel.ts'
export { otel } from './otel.ts'

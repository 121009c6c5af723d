import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'

const HERE = fileURLToPath(import.meta.url)

/** Gives tests the API and the SDKs of OpenTelemetry that the integration tests depend on: those of the 3.x line. */
export function thirdLine(): Plugin {
  return {
    name: 'third-line',
    enforce: 'pre',
    resolveId(source) {
      return source.startsWith('@opentelemetry/') ? this.resolve(source, HERE, { skipSelf: true }) : undefined
    },
  }
}

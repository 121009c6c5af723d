export type { StrictVerifier, StrictVerifierOptions } from './write/strict-verifier.ts'
export { strictVerifier } from './write/strict-verifier.ts'

import { testHandler } from '@troupe/testkit'
import { userName } from './user-name.ts'

// The conformance suite of handlers.
testHandler('user-name', () => userName('Ann'))

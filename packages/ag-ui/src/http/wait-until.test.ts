import { expect, it } from 'vitest'
import { framesOf, input, post, served, typesOf, words } from './http.fixture.ts'

it('a run keeps its worker until it has ended, even if its reader leaves', async () => {
  const barrier = Promise.withResolvers<void>()
  const { handler } = served(async function* () {
    yield* words(1)
    await barrier.promise
  })
  const order: string[] = []
  const worker = {
    kept: [] as Promise<unknown>[],
    waitUntil(work: Promise<unknown>) {
      this.kept.push(work.then(() => order.push('ended')))
    },
  }
  const response = await handler(post(input()), worker)
  await response.body?.cancel()
  order.push('left')
  barrier.resolve()
  await Promise.all(worker.kept)
  expect(order).toEqual(['left', 'ended'])
  const refused = await handler(post(input()), worker)
  expect(refused.status).toBe(409)
  await Promise.all(worker.kept)
})

it.each([null, 'text', { params: {} }, { waitUntil: 1 }])('%j beside a request changes nothing', async (context) => {
  const { handler } = served(() => words(1))
  expect(typesOf(await framesOf(await handler(post(input()), context))).at(-1)).toBe('RUN_FINISHED')
})

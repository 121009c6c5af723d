/** A fetch whose responses break off after a number of bytes. Contract: `cutAfter` is called once per response; undefined does not cut it. */
export function cuttingFetch(cutAfter: () => number | undefined): {
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
  readonly cuts: number
} {
  let cuts = 0
  return {
    get cuts() {
      return cuts
    },
    async fetch(url, init) {
      const response = await fetch(url, init)
      const most = cutAfter()
      if (most === undefined || !response.ok || !response.body) return response
      let left = most
      const cut = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          if (left > 0) controller.enqueue(chunk.slice(0, left))
          left -= chunk.length
          if (left > 0) return
          cuts++
          controller.error(new TypeError('terminated'))
        },
      })
      const body = response.body.pipeThrough(cut)
      return new Response(body, { status: response.status, headers: response.headers })
    },
  }
}

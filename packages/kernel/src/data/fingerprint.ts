import { canonical } from './canonical.ts'

/** The same short text for equal JSON values, and another one for all others. Contract: the first 96 bits of a SHA-256, so that nobody can make two values with the same one. */
export function fingerprint(value: unknown): string {
  return sha256(new TextEncoder().encode(canonical(value)))
    .slice(0, 3)
    .map((word) => word.toString(16).padStart(8, '0'))
    .join('')
}

/** The eight words of a SHA-256. The one of Web Crypto is asynchronous, and absent from pages that were not loaded over HTTPS. */
export function sha256(bytes: Uint8Array): readonly number[] {
  const hash = FIRST.slice()
  const words = paddedWords(bytes)
  const schedule = new Uint32Array(64)
  for (let block = 0; block < words.length; block += 16) {
    fillSchedule(schedule, words.subarray(block, block + 16))
    addBlock(hash, schedule)
  }
  return [...hash]
}

function paddedWords(bytes: Uint8Array): Uint32Array {
  const words = new Uint32Array(((bytes.length + 8) >> 6) * 16 + 16)
  bytes.forEach((byte, i) => {
    words[i >> 2] = at(words, i >> 2) | (byte << (24 - (i % 4) * 8))
  })
  words[bytes.length >> 2] = at(words, bytes.length >> 2) | (0x80 << (24 - (bytes.length % 4) * 8))
  words[words.length - 2] = Math.floor(bytes.length / 0x2000_0000)
  words[words.length - 1] = bytes.length * 8
  return words
}

function fillSchedule(schedule: Uint32Array, block: Uint32Array): void {
  schedule.set(block)
  for (let i = 16; i < 64; i++) {
    const early = at(schedule, i - 15)
    const late = at(schedule, i - 2)
    const s0 = turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)
    const s1 = turned(late, 17) ^ turned(late, 19) ^ (late >>> 10)
    schedule[i] = at(schedule, i - 16) + s0 + at(schedule, i - 7) + s1
  }
}

function addBlock(hash: Uint32Array, schedule: Uint32Array): void {
  let [a, b, c, d, e, f, g, h] = hash as unknown as [number, number, number, number, number, number, number, number]
  for (let i = 0; i < 64; i++) {
    const s1 = turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)
    const first = (h + s1 + ((e & f) ^ (~e & g)) + at(ROUND, i) + at(schedule, i)) | 0
    const s0 = turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)
    const second = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0
    ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
  }
  for (const [i, word] of [a, b, c, d, e, f, g, h].entries()) hash[i] = at(hash, i) + word
}

function at(words: Uint32Array, index: number): number {
  return words[index] as number
}

function turned(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

/** The first 32 bits of the fractional parts of a root of the first primes, as SHA-256 defines its constants. */
function rootsOfPrimes(count: number, root: (prime: number) => number): Uint32Array {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return Uint32Array.from(primes, (prime) => Math.floor((root(prime) % 1) * 0x1_0000_0000))
}

const FIRST = rootsOfPrimes(8, Math.sqrt)
const ROUND = rootsOfPrimes(64, Math.cbrt)

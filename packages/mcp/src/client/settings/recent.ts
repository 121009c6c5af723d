/** The number of owners that something is kept for. */
const MAX = 1000

/** A map that keeps what was set last, so that it does not grow with the number of owners. */
export class Recent<Value> extends Map<string, Value> {
  override set(key: string, value: Value): this {
    this.delete(key)
    super.set(key, value)
    const [oldest] = this.keys()
    if (this.size > MAX && oldest !== undefined) this.delete(oldest)
    return this
  }
}

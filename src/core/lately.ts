/** What a process remembers of the last minute, in case the ledger loses it. */

/** What happened lately, oldest first: within the last minute, and no more than fits. */
export class Lately<Value> {
  static readonly KEPT_MS = 60_000
  static readonly MOST = 20_000
  static readonly LETTERS_MOST = 32_000_000
  #entries: { readonly value: Value; readonly letters: number; readonly atMs: number }[] = []
  #from = 0
  #letters = 0

  /** `letters`: of a text that is kept with it. */
  add(value: Value, atMs: number, letters = 0): void {
    const entries = this.#entries
    entries.push({ value, letters, atMs })
    this.#letters += letters
    for (let first = entries[this.#from]; first !== undefined; first = entries[++this.#from]) {
      const fits = entries.length - this.#from <= Lately.MOST && this.#letters <= Lately.LETTERS_MOST
      if (fits && first.atMs >= atMs - Lately.KEPT_MS) break
      this.#letters -= first.letters
    }
    if (this.#from < entries.length / 2) return
    this.#entries = entries.slice(this.#from)
    this.#from = 0
  }

  all(nowMs: number): readonly { readonly value: Value; readonly atMs: number }[] {
    return this.#entries.slice(this.#from).filter(({ atMs }) => atMs >= nowMs - Lately.KEPT_MS)
  }
}

/** The last states that were heard of lately, by the ids of what has them; their versions only grow. */
export class LatelyHeard<State extends { readonly version: number }> {
  readonly #last = new Map<string, { readonly state: State; readonly atMs: number }>()

  /** Whether it was new. */
  hear(id: string, state: State, atMs: number): boolean {
    if ((this.#last.get(id)?.state.version ?? 0) >= state.version) return false
    this.#last.delete(id)
    this.#last.set(id, { state, atMs })
    for (const [first, its] of this.#last) {
      if (this.#last.size <= Lately.MOST && its.atMs >= atMs - Lately.KEPT_MS) break
      this.#last.delete(first)
    }
    return true
  }

  all(nowMs: number): ReadonlyMap<string, State> {
    const kept = [...this.#last].filter(([, { atMs }]) => atMs >= nowMs - Lately.KEPT_MS)
    return new Map(kept.map(([id, { state }]) => [id, state]))
  }
}

/** Calls that lately ended without a charge, and were not opened again. */
export class LatelyFree {
  readonly #endedMs = new Map<string, number>()

  add(call: string, atMs: number): void {
    this.#endedMs.delete(call)
    this.#endedMs.set(call, atMs)
    for (const [first, endedMs] of this.#endedMs) {
      if (this.#endedMs.size <= Lately.MOST && endedMs >= atMs - Lately.KEPT_MS) break
      this.#endedMs.delete(first)
    }
  }

  opened(call: string): void {
    this.#endedMs.delete(call)
  }

  all(): readonly string[] {
    return [...this.#endedMs.keys()]
  }
}

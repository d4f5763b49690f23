/**
 * What one call's rules took out of its texts, under the placeholders that stand there instead. It lives as long as the call, in
 * memory alone.
 */
import { type Detector, MORE, NONE } from './letters.ts'

/** Placeholders are `[LABEL_n]`; labels have at most this many letters. */
const PLACEHOLDER_MOST = 64

const isPart = (code: number): boolean =>
  (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95

export class Vault {
  readonly #sent: string
  readonly #places = new Map<string, string>()
  readonly #values = new Map<string, string>()
  readonly #counts = new Map<string, number>()

  /** `sent` is all that the vendor gets: a placeholder that its author wrote is none of ours. */
  constructor(sent: string) {
    this.#sent = sent
  }

  get size(): number {
    return this.#values.size
  }

  /** The placeholder of a value: the same each time. */
  put({ label }: Detector, value: string): string {
    const known = this.#places.get(value)
    if (known !== undefined) return known
    let place: string
    do {
      const count = (this.#counts.get(label) ?? 0) + 1
      this.#counts.set(label, count)
      place = `[${label}_${count}]`
    } while (this.#sent.includes(place))
    this.#places.set(value, place)
    this.#values.set(place, value)
    return place
  }

  value(place: string): string | undefined {
    return this.#values.get(place)
  }

  /** Finds the placeholders that were given. */
  detector(): Detector {
    return {
      name: 'placeholder',
      label: 'PLACEHOLDER',
      anywhere: true,
      begins: (code) => code === 91,
      match: (text, at, ended) => {
        let here = at + 1
        const most = at + PLACEHOLDER_MOST
        while (here < text.length && here < most && isPart(text.charCodeAt(here))) here++
        if (here === text.length && here < most) return ended ? NONE : MORE
        return this.#values.has(text.slice(at, here + 1)) ? here + 1 : NONE
      },
    }
  }
}

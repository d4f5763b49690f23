/**
 * Finds what rules look for in a text that comes in pieces: the same as in the whole, however it is cut. It holds back no more
 * than what the longest possible find needs. What blocks, what masks and what is only noted are looked for each by itself, so
 * that none hides the other.
 */
import { type Detector, isAlnum, MORE, NONE, numberFrom } from './letters.ts'
import { Reading } from './reading.ts'

export const actions = ['block', 'mask', 'log'] as const
export type Action = (typeof actions)[number]

export type Watched = { readonly detector: Detector; readonly action: Action }

/** Letters that pass, or what takes the place of some. */
export type Piece = { readonly length: number; readonly found?: Detector }

/** Detectors by the letter with which they may begin; letters beyond ASCII share the last place. */
const PLACES = 129

/** A detector with all that is asked of it before its own code, in one form: that is what makes it fast. */
type Look = {
  readonly watched: Watched
  readonly action: Action
  readonly seconds: ReadonlySet<number> | undefined
  readonly runs: number
  readonly digits: number
}
type Table = readonly (readonly Look[] | undefined)[]

export class Scanner {
  readonly watched: readonly Watched[]
  /** What may begin where a word begins, inside of one, and where a word begins that is far from any @. */
  readonly starting: Table
  readonly anywhere: Table
  readonly far: Table
  /** How far from its begin an @ may stand; 0 if none of them has one. */
  readonly reach: number

  constructor(watched: readonly Watched[]) {
    this.watched = watched
    const looks = watched.map(lookOf)
    this.starting = tableOf(looks)
    this.anywhere = tableOf(looks.filter((one) => one.watched.detector.anywhere === true))
    this.far = tableOf(looks.filter((one) => one.watched.detector.at === undefined))
    this.reach = Math.max(0, ...watched.map(({ detector }) => detector.at ?? 0))
  }
}

const ANY = -1

const lookOf = (watched: Watched): Look => {
  const { action, detector } = watched
  const { seconds, runs = ANY, digits = 0 } = detector
  return { watched, action, seconds, runs, digits }
}

const tableOf = (looks: readonly Look[]): Table =>
  Array.from({ length: PLACES }, (_, code) => {
    const its = looks.filter(({ watched: { detector } }) =>
      code === 128 ? detector.wide === true : detector.begins(code),
    )
    return its.length === 0 ? undefined : its
  })

/** What of the text before the first letter that is not decided is still looked at. */
const CONTEXT = 8
/** A few letters more are kept than cut each time. */
const KEPT_LEAST = 64
/** No find with an end that is not seen otherwise is longer. */
const CUT_MOST = 512
/** No detector looks further back. */
const BEHIND_MOST = 16
const AT = '@'
const SLASH = 92
const ESCAPES = 'bfnrtu'

/**
 * Whether something may begin at one of the two letters behind a backslash: texts that are JSON themselves have escapes, whose
 * letters are none of the words around them.
 */
const startsAfter = (slash: number, text: string, at: number, usual: boolean): boolean =>
  at - slash === 1
    ? usual && !ESCAPES.includes(text[at] ?? '')
    : usual || ESCAPES.includes(text[slash + 1] ?? '')

/** Hears of each find, also of its text, which nobody may tell. */
export type Noted = (detector: Detector, action: Action, found: string) => void

type Found = { [Its in Action]?: { readonly detector: Detector; readonly end: number } }

/** One text in pieces. */
export class Scan {
  readonly #scanner: Scanner
  readonly #noted: Noted
  readonly #reading = new Reading()
  /** Where the first letter is that nothing has decided, as it is read; and the first that was not given out, as it was sent. */
  #at = 0
  #out = 0
  /** The last backslash, while what follows may be an escape. */
  #slash = -1
  /** Up to where each action's last find reaches. */
  readonly #until = { block: 0, mask: 0, log: 0 }

  constructor(scanner: Scanner, noted: Noted) {
    this.#scanner = scanner
    this.#noted = noted
  }

  /** The text that a find of the last `feed` has; its place counts from the first letter not given out before. */
  taken = ''

  /** Takes a piece and says what is decided, in order. */
  feed(piece: string, ended: boolean): readonly Piece[] {
    const reading = this.#reading
    reading.add(piece, ended)
    const start = this.#out
    const pieces: Piece[] = []
    this.#at = this.#decide(pieces, ended)
    const { sent, text } = reading
    this.#pass(this.#at === text.length ? sent.length : reading.startOf(this.#at), pieces)
    this.taken = sent.slice(start, this.#out)
    this.#forget()
    return pieces
  }

  /** Looks at each letter with which something may begin, and returns the first that is not decided. */
  #decide(pieces: Piece[], ended: boolean): number {
    const { text, seams } = this.#reading
    const { starting, anywhere, far, reach } = this.#scanner
    const { length } = text
    let at = this.#at
    let before = at > 0 && isAlnum(text.charCodeAt(at - 1))
    let slash = this.#slash
    let seam = 0
    let seamAt = seams[0]?.at ?? length
    /** Something with an @ may begin from here on, up to that @. */
    let nearFrom = reach === 0 ? length : at
    let nearTo = -1
    for (; at < length; at++) {
      const code = text.charCodeAt(at)
      const alnum = isAlnum(code)
      // Most letters are inside of words.
      if (before && alnum && slash < 0 && at < seamAt) continue
      let starts = slash < 0 ? !before : startsAfter(slash, text, at, !before)
      while (at >= seamAt) {
        starts ||= at === seamAt
        seam++
        seamAt = seams[seam]?.at ?? length
      }
      if (starts && at >= nearFrom && at > nearTo) {
        nearTo = text.indexOf(AT, at)
        if (nearTo < 0) nearTo = length
        nearFrom = nearTo === length && ended ? length : nearTo - reach
      }
      const place = code < 128 ? code : 128
      const its = (starts ? (at < nearFrom ? far : starting) : anywhere)[place]
      if (its !== undefined) {
        const found = this.#look(its, at, ended, seamAt)
        if (found === 'open') break
        if (found !== undefined) this.#take(found, at, pieces)
      }
      before = alnum
      if (code === SLASH) slash = slash === at - 1 && at > 0 ? -1 : at
      else if (at - slash > 1) slash = -1
    }
    this.#slash = slash
    return at
  }

  /** What begins at `at`, for each action the longest; `open` if what follows decides. */
  #look(its: readonly Look[], at: number, ended: boolean, seam: number): Found | 'open' | undefined {
    let found: Found | undefined
    const { text } = this.#reading
    let number: number | undefined
    for (const { watched, action, seconds, runs, digits } of its) {
      if (at < this.#until[action]) continue
      if (seconds !== undefined && at + 1 < text.length && !seconds.has(text.charCodeAt(at + 1))) continue
      if (runs !== ANY) {
        number ??= numberFrom(text, at, ended)
        const run = number & 255
        // What is sent in other forms may be a number up to where those begin.
        if (number !== NONE && (number >> 8 < digits || (((runs >> run) & 1) === 0 && at + run < seam)))
          continue
      }
      const { detector } = watched
      let end = detector.match(text, at, ended)
      if (end === MORE) return 'open'
      // What stands by itself as it was sent is found, even if letters of other forms make it longer.
      if (end < seam && seam - at < CUT_MOST && seam < text.length) {
        const from = Math.max(0, at - BEHIND_MOST)
        const cut = detector.match(text.slice(from, seam), at - from, true)
        if (cut !== NONE) end = Math.max(end, from + cut)
      }
      if (end < 0 || end <= (found?.[action]?.end ?? 0)) continue
      found ??= {}
      found[action] = { detector, end }
    }
    return found
  }

  #take(found: Found, at: number, pieces: Piece[]): void {
    const reading = this.#reading
    for (const action of actions) {
      const its = found[action]
      if (its === undefined) continue
      this.#until[action] = its.end
      this.#noted(its.detector, action, reading.text.slice(at, its.end))
      if (action !== 'mask') continue
      this.#pass(reading.startOf(at), pieces)
      const end = reading.endOf(its.end)
      pieces.push({ length: end - this.#out, found: its.detector })
      this.#out = end
    }
  }

  /** What was sent passes up to a place. */
  #pass(to: number, pieces: Piece[]): void {
    if (to <= this.#out) return
    pieces.push({ length: to - this.#out })
    this.#out = to
  }

  /** Letters that are decided and given out need not be kept. */
  #forget(): void {
    const drop = this.#at - CONTEXT
    if (drop < KEPT_LEAST) return
    this.#out -= this.#reading.forget(drop)
    this.#at -= drop
    this.#slash = this.#slash < drop ? -1 : this.#slash - drop
    for (const action of actions) this.#until[action] = Math.max(0, this.#until[action] - drop)
  }
}

/**
 * Finds what rules look for in a text that comes in pieces: the same as in the whole, however it is cut. It holds back no more
 * than what the longest possible find needs. What blocks, what masks and what is only noted are looked for each by itself, so
 * that none hides the other.
 */
import { type Detector, isAlnum, MORE, numbersFrom } from './letters.ts'

export const actions = ['block', 'mask', 'log'] as const
export type Action = (typeof actions)[number]

export type Watched = { readonly detector: Detector; readonly action: Action }

/** Letters that pass, or what takes the place of some. */
export type Piece = { readonly length: number; readonly found?: Detector }

/** Detectors by the letter with which they may begin; letters beyond ASCII share the last place. */
const PLACES = 129

type Table = readonly (readonly Watched[] | undefined)[]

export class Scanner {
  readonly watched: readonly Watched[]
  readonly #starting: Table
  readonly #anywhere: Table

  constructor(watched: readonly Watched[]) {
    this.watched = watched
    this.#starting = tableOf(watched)
    this.#anywhere = tableOf(watched.filter(({ detector }) => detector.anywhere === true))
  }

  /** What may begin with this letter, where a word begins or inside one. */
  at(code: number, starts: boolean): readonly Watched[] | undefined {
    const place = code < 128 ? code : 128
    return starts ? this.#starting[place] : this.#anywhere[place]
  }
}

const tableOf = (watched: readonly Watched[]): Table =>
  Array.from({ length: PLACES }, (_, code) => {
    const its = watched.filter(({ detector }) =>
      code === 128 ? detector.wide === true : detector.begins(code),
    )
    return its.length === 0 ? undefined : its
  })

/** What of the text before the first letter that is not decided is still looked at. */
const CONTEXT = 8
const NUMBERS_MOST = 9
const SLASH = 92
const LETTER_U = 117
const ESCAPES = 'bfnrtu'
const LONGEST_ESCAPE = 6

/**
 * Whether something may begin soon after a backslash: texts that are JSON themselves have escapes, whose letters are none of
 * the words around them.
 */
const startsAfter = (slash: number, text: string, at: number, usual: boolean): boolean => {
  const far = at - slash
  if (far === 1) return usual && !ESCAPES.includes(text[at] ?? '')
  const kind = text.charCodeAt(slash + 1)
  const length = kind === LETTER_U ? LONGEST_ESCAPE : 2
  if (far === length) return usual || ESCAPES.includes(String.fromCharCode(kind))
  return far > length && usual
}

export type Noted = (detector: Detector, action: Action) => void

type Found = { [Its in Action]?: { readonly detector: Detector; readonly end: number } }

/** One text in pieces. */
export class Scan {
  readonly #scanner: Scanner
  readonly #noted: Noted
  #text = ''
  /** Where the first letter is that nothing has decided, and the first that was not given out. */
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
    this.#text = this.#text === '' ? piece : this.#text + piece
    const start = this.#out
    const pieces = this.#decide(ended)
    this.taken = this.#text.slice(start, this.#out)
    this.#forget()
    return pieces
  }

  #decide(ended: boolean): Piece[] {
    const text = this.#text
    const scanner = this.#scanner
    const pieces: Piece[] = []
    let at = this.#at
    let before = at > 0 && isAlnum(text.charCodeAt(at - 1))
    let slash = this.#slash
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      const alnum = isAlnum(code)
      // Most letters are inside of words.
      if (before && alnum && slash < 0) continue
      const starts = slash < 0 ? !before : startsAfter(slash, text, at, !before)
      const its = scanner.at(code, starts)
      if (its !== undefined) {
        const found = this.#look(its, at, ended)
        if (found === 'open') break
        if (found !== undefined) this.#take(found, at, pieces)
      }
      before = alnum
      if (code === SLASH) slash = slash === at - 1 && at > 0 ? -1 : at
      else if (slash >= 0 && at - slash > LONGEST_ESCAPE) slash = -1
    }
    this.#slash = slash
    this.#at = at
    if (at > this.#out) {
      pieces.push({ length: at - this.#out })
      this.#out = at
    }
    return pieces
  }

  /** What begins at `at`, for each action the longest; `open` if what follows decides. */
  #look(its: readonly Watched[], at: number, ended: boolean): Found | 'open' | undefined {
    let found: Found | undefined
    const text = this.#text
    let numbers = -1
    for (const { detector, action } of its) {
      if (at < this.#until[action]) continue
      const { least } = detector
      if (least !== undefined) {
        if (numbers < 0) numbers = numbersFrom(text, at, NUMBERS_MOST)
        if (numbers < least && at + numbers < text.length) continue
      }
      const end = detector.match(text, at, ended)
      if (end === MORE) return 'open'
      if (end < 0 || end <= (found?.[action]?.end ?? 0)) continue
      found ??= {}
      found[action] = { detector, end }
    }
    return found
  }

  #take(found: Found, at: number, pieces: Piece[]): void {
    for (const action of actions) {
      const its = found[action]
      if (its === undefined) continue
      this.#until[action] = its.end
      this.#noted(its.detector, action)
      if (action !== 'mask') continue
      if (at > this.#out) pieces.push({ length: at - this.#out })
      pieces.push({ length: its.end - at, found: its.detector })
      this.#out = its.end
    }
  }

  /** Letters that are decided and given out need not be kept. */
  #forget(): void {
    const drop = Math.min(this.#at, this.#out) - CONTEXT
    if (drop <= 0) return
    this.#text = this.#text.slice(drop)
    this.#at -= drop
    this.#out -= drop
    this.#slash = this.#slash < drop ? -1 : this.#slash - drop
    for (const action of actions) this.#until[action] = Math.max(0, this.#until[action] - drop)
  }
}

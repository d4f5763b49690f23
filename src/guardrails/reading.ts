/**
 * A text as detectors read it: ASCII letters, digits and signs that are written in other forms are those, and what is not seen
 * is left out, in escapes of JSON too. Each letter that is read knows where it stands in the text as it was sent.
 */

/** What a letter beyond ASCII is read as; from 32 on, an ASCII letter. */
const UNSEEN = 1
const OTHER = 2
const LETTER = 3
/** A letter of a script that puts no spaces between words. */
const UNSPACED = 4
const ASCII_LEAST = 32

const UNSEEN_FORM = /[\p{Default_Ignorable_Code_Point}\p{Mn}\p{Me}]/u
const DIGIT_FORM = /\p{Nd}/u
const LETTER_FORM = /[\p{L}\p{Mc}\p{N}]/u
const UNSPACED_FORM =
  /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Bopo}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u
/** Signs that Unicode's compatible forms (NFKC) leave as they are. */
const SIGNS: readonly (readonly [RegExp, string])[] = [
  [/\p{Zs}/u, ' '],
  [/[\p{Pd}\u2212]/u, '-'],
]

const readOf = (point: number): number => {
  const letter = String.fromCodePoint(point)
  if (UNSEEN_FORM.test(letter)) return UNSEEN
  if (DIGIT_FORM.test(letter)) {
    // Unicode gives each script its ten digits in order, and blocks of them may touch.
    let zero = point
    while (DIGIT_FORM.test(String.fromCodePoint(zero - 1))) zero--
    return 48 + ((point - zero) % 10)
  }
  const sign = SIGNS.find(([form]) => form.test(letter))?.[1] ?? letter.normalize('NFKC')
  const code = sign.charCodeAt(0)
  if (sign.length === 1 && code >= ASCII_LEAST && code < 128) return code
  if (!LETTER_FORM.test(letter)) return OTHER
  return UNSPACED_FORM.test(letter) ? UNSPACED : LETTER
}

/** By code point; 0 is not known yet. */
const known = new Uint8Array(0x110000)
const readAs = (point: number): number => {
  if (point < 128) return point < ASCII_LEAST ? OTHER : point
  const read = known[point] ?? OTHER
  if (read !== 0) return read
  const now = readOf(point)
  known[point] = now
  return now
}

/** Whether a letter beyond ASCII is one of words. */
export const isWide = (code: number): boolean => code >= 128 && readAs(code) >= LETTER
export const isUnspaced = (code: number): boolean => code >= 128 && readAs(code) === UNSPACED

const SLASH = 92
/** Texts that are JSON within JSON have several backslashes. */
const HIGH = '[dD][89abAB][\\da-fA-F]{2}'
const ESCAPE = new RegExp(
  `\\\\{1,8}u(?:(${HIGH})\\\\{1,8}u([dD][c-fC-F][\\da-fA-F]{2})|([\\da-fA-F]{4}))`,
  'y',
)
const UNENDED = new RegExp(
  `\\\\{1,8}(?:u(?:[\\da-fA-F]{0,3}|${HIGH}(?:\\\\{1,8}(?:u(?:[dD](?:[c-fC-F][\\da-fA-F]?)?)?)?)?))?$`,
  'y',
)
/** So many letters in a row may be unseen, so that no stream waits for more. */
const UNSEEN_MOST = 64

/** A place where letters that are read as they are meet others, or where some are left out. */
type Seam = {
  readonly at: number
  /** In the text as it was sent: where the letter before ends, and where the one behind starts. */
  readonly end: number
  readonly start: number
}

/** Up to so many letters a loop is faster than a call of the runtime. */
const SHORT = 32

/** Whether a piece is ASCII without an escape of a letter, and without the begin of one. */
const isPlain = (piece: string): boolean => {
  if (piece.length < SHORT) {
    for (let at = 0; at < piece.length; at++) {
      const code = piece.charCodeAt(at)
      if (code >= 128 || code === SLASH) return false
    }
    return true
  }
  if (Buffer.byteLength(piece) !== piece.length) return false
  const slash = piece.lastIndexOf('\\')
  return slash < 0 || (slash < piece.length - 1 && !piece.includes('\\u'))
}

const isUnended = (text: string, at: number, code: number): boolean => {
  if (code !== SLASH) return at === text.length - 1 && code >= 0xd800 && code < 0xdc00
  UNENDED.lastIndex = at
  return UNENDED.test(text)
}

/** The letter at a place, which an escape may stand for. */
const letterAt = (text: string, at: number, code: number): { point: number; width: number } => {
  if (code !== SLASH) {
    const point = text.codePointAt(at) ?? 0
    return { point, width: point > 0xffff ? 2 : 1 }
  }
  ESCAPE.lastIndex = at
  const [{ length }, high, low, one] = ESCAPE.exec(text) ?? ['\\']
  const units = [high ?? one, low]
    .filter((unit) => unit !== undefined)
    .map((unit) => Number.parseInt(unit, 16))
  const point = units.length === 0 ? SLASH : (String.fromCharCode(...units).codePointAt(0) ?? 0)
  return { point, width: length }
}

export class Reading {
  /** As it is read, and as it was sent. */
  text = ''
  sent = ''
  seams: Seam[] = []
  #same = true
  #rest = ''
  #unseen = 0
  /** Where the last letter that is read ends in what was sent. */
  #end = 0
  #last: 'plain' | 'read' | 'seam' = 'plain'

  /** Takes a piece; what may be half a letter waits. */
  add(piece: string, ended: boolean): void {
    const all = this.#rest === '' ? piece : this.#rest + piece
    this.#rest = ''
    if (isPlain(all)) this.#keep(all)
    else this.#read(all, ended)
  }

  #read(all: string, ended: boolean): void {
    let from = 0
    for (let at = 0; at < all.length; ) {
      const code = all.charCodeAt(at)
      if (code < 128 && code !== SLASH) {
        at++
        continue
      }
      if (!ended && isUnended(all, at, code)) {
        this.#keep(all.slice(from, at))
        this.#rest = all.slice(at)
        return
      }
      const { point, width } = letterAt(all, at, code)
      const read = this.#readAs(point, width)
      if (read !== undefined) {
        this.#keep(all.slice(from, at))
        from = at + width
        this.#put(all.slice(at, from), read)
      }
      at += width
    }
    this.#keep(all.slice(from))
  }

  /** What is read in place of a letter; undefined if it is read as it is. */
  #readAs(point: number, width: number): string | undefined {
    const read = readAs(point)
    if (read === UNSEEN && this.#unseen < UNSEEN_MOST) return ''
    if (read >= ASCII_LEAST) return point < 128 && width === 1 ? undefined : String.fromCharCode(read)
    return width > 2 ? String.fromCodePoint(point).charAt(0) : undefined
  }

  /** Letters that are read as they are. */
  #keep(letters: string): void {
    if (letters === '') return
    if (this.#last !== 'plain') this.#seam()
    this.text = this.text === '' ? letters : this.text + letters
    this.sent = this.#same ? this.text : this.sent + letters
    this.#end = this.sent.length
    this.#last = 'plain'
    this.#unseen = 0
  }

  #put(letters: string, read: string): void {
    if (read !== '' && this.#last !== 'read') this.#seam()
    this.#same = false
    this.sent += letters
    this.text += read
    this.#unseen = read === '' ? this.#unseen + 1 : 0
    if (read !== '') this.#end = this.sent.length
    this.#last = read !== '' && letters.length === 1 ? 'read' : 'seam'
  }

  #seam(): void {
    this.seams.push({ at: this.text.length, end: this.#end, start: this.sent.length })
  }

  /** The last seam up to a place. */
  #seamUpTo(at: number): Seam | undefined {
    let [from, to] = [0, this.seams.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.seams[middle]?.at ?? at) <= at) from = middle + 1
      else to = middle
    }
    return this.seams[from - 1]
  }

  /** Where a letter that is read starts in what was sent. */
  startOf(at: number): number {
    if (at >= this.text.length) return this.#end
    const seam = this.#seamUpTo(at)
    return seam === undefined ? at : seam.start + at - seam.at
  }

  /** Where the letter before a place ends in what was sent. */
  endOf(at: number): number {
    const seam = this.#seamUpTo(at)
    return seam?.at === at ? seam.end : this.startOf(at)
  }

  /** Forgets so many letters of those that are read, and returns how many of those that were sent. */
  forget(count: number): number {
    const gone = this.startOf(count)
    this.text = this.text.slice(count)
    this.sent = this.#same ? this.text : this.sent.slice(gone)
    if (this.seams.length > 0)
      this.seams = this.seams
        .filter(({ at }) => at > count)
        .map(({ at, end, start }) => ({ at: at - count, end: end - gone, start: start - gone }))
    this.#end -= gone
    this.#same = this.sent === this.text && this.seams.length === 0
    return gone
  }
}

/** A whole text as it is read. */
export const asRead = (text: string): string => {
  const reading = new Reading()
  reading.add(text, true)
  return reading.text
}

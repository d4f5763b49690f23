/** What detectors share: their form, and kinds of letters. */

export const NONE = -1
/** What follows the text decides. */
export const MORE = -2

export type Detector = {
  readonly name: string
  /** Stands for what was found, in a placeholder. */
  readonly label: string
  /** The letters with which it may begin. */
  readonly begins: (code: number) => boolean
  /** It may also begin behind a letter or digit, and is none itself. */
  readonly anywhere?: true
  /** It may begin with a letter that is not ASCII. */
  readonly wide?: true
  /** It has at least so many letters of numbers and codes. */
  readonly least?: number
  /** The end of what begins at `at`, or NONE, or MORE unless the text has ended. */
  readonly match: (text: string, at: number, ended: boolean) => number
}

const DIGIT = 1
const UPPER = 2
const LOWER = 4
/** Beside letters and digits, in the part of an address before its @. */
const LOCAL = 8

const kinds = Uint8Array.from({ length: 128 }, (_, code) => {
  const letter = String.fromCharCode(code)
  if (letter >= '0' && letter <= '9') return DIGIT
  if (letter >= 'A' && letter <= 'Z') return UPPER
  if (letter >= 'a' && letter <= 'z') return LOWER
  return '._%+-'.includes(letter) ? LOCAL : 0
})
const kindOf = (code: number): number => (code < 128 ? (kinds[code] ?? 0) : 0)

export const isDigit = (code: number): boolean => kindOf(code) === DIGIT
export const isUpper = (code: number): boolean => kindOf(code) === UPPER
export const isAlnum = (code: number): boolean => (kindOf(code) & (DIGIT | UPPER | LOWER)) !== 0
export const isLocal = (code: number): boolean => kindOf(code) !== 0

/** How many capitals, digits and what stands between them follow, up to so many. */
export const numbersFrom = (text: string, at: number, most: number): number => {
  let here = at
  for (; here < text.length && here - at < most; here++) {
    const code = text.charCodeAt(here)
    if ((kindOf(code) & (DIGIT | UPPER)) === 0 && code !== 32 && (code < 40 || code > 47)) break
  }
  return here - at
}

/** Whether no letter or digit follows at `end`; MORE if that is not known yet. */
export const closed = (text: string, end: number, ended: boolean): number =>
  end < text.length ? (isAlnum(text.charCodeAt(end)) ? NONE : end) : ended ? end : MORE

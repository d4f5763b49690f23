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
  /** The letters that may come second; any if undefined. */
  readonly seconds?: ReadonlySet<number>
  /** How many digits, or capitals, it may begin with: a bit for each number. */
  readonly runs?: number
  /** It has an @, at most so many letters behind its first one. */
  readonly at?: number
  /** It has at least so many digits before any capital, but for those that it begins with. */
  readonly digits?: number
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

/** More are not counted. */
const RUN_MOST = 31
const DIGITS_MOST = 14

/**
 * How many digits or capitals follow (NONE if the text ends with them and goes on), and how many digits there are in all with
 * what stands between groups of them, as `run + 256 * digits`.
 */
export const numberFrom = (text: string, at: number, ended: boolean): number => {
  const kind = kindOf(text.charCodeAt(at))
  let here = at
  if (kind === DIGIT || kind === UPPER)
    while (here < text.length && here - at < RUN_MOST && kindOf(text.charCodeAt(here)) === kind) here++
  if (here === text.length && !ended) return NONE
  const run = here - at
  let digits = kind === DIGIT ? run : 0
  if (run === 0) here++
  for (; here < text.length && digits < DIGITS_MOST; here++) {
    const code = text.charCodeAt(here)
    if (kindOf(code) === DIGIT) digits++
    else if (code !== 32 && code !== 40 && code !== 41 && (code < 45 || code > 47)) break
  }
  if (here === text.length && !ended) digits = DIGITS_MOST
  return run + 256 * Math.min(digits, DIGITS_MOST)
}

/** Whether no letter or digit follows at `end`; MORE if that is not known yet. */
export const closed = (text: string, end: number, ended: boolean): number =>
  end < text.length ? (isAlnum(text.charCodeAt(end)) ? NONE : end) : ended ? end : MORE

/**
 * Money: every amount is a bigint of nano-dollars (1 USD = 1 000 000 000), every unit price an integer of pico-dollars.
 *
 * In this code base a `bigint` is always money, so the compiler itself keeps amounts and floats apart.
 */

/** An amount in nano-USD. */
export type Nano = bigint

/** A price in pico-USD for one unit (a token, an image, a call): a non-negative safe integer. */
export type Pico = number

export const NANO_PER_USD = 1_000_000_000n
const PICO_PER_NANO = 1_000n

const DECIMAL = /^(\d{1,10})(?:\.(\d{1,9}))?$/

/**
 * Reads a decimal string such as `"0.25"` into nano-USD, digit by digit; no float is involved.
 * Returns undefined for signs, exponents, blanks, more than nine decimals and more than 1e9 USD.
 */
export const nanoFromDecimal = (text: string): Nano | undefined => {
  const match = DECIMAL.exec(text)
  if (!match) return undefined
  const amount = BigInt(match[1] ?? '') * NANO_PER_USD + BigInt((match[2] ?? '').padEnd(9, '0'))
  return amount > BigInt(LARGEST_USD) * NANO_PER_USD ? undefined : amount
}

/** What it reads, for those who typed something else. */
export const AMOUNT_FORM =
  'a decimal amount of USD such as 25 or 0.5, at most a billion and with at most nine decimals'

/** A larger amount is surely a mistake, and a sum of a few would overflow a ledger column. */
const LARGEST_USD = 1e9

/**
 * Reads a JSON number of USD, 0 to 1e9, as the decimal that it is written with, rounded to the nearest nano-dollar. The float
 * of a large amount is another one: that of 20000000.1 is 20000000.100000001 in nine decimals.
 * The only path from a float to money. Returns undefined outside the range and for a positive value that rounds to zero.
 */
export const nanoFromNumber = (usd: unknown): Nano | undefined => {
  if (typeof usd !== 'number' || !Number.isFinite(usd) || usd < 0 || usd > LARGEST_USD) return undefined
  const nano = nanoFromDecimal(String(usd)) ?? BigInt(usd.toFixed(9).replace('.', ''))
  return nano === 0n && usd > 0 ? undefined : nano
}

/** Writes nano-USD as an exact decimal string without trailing zeros: `1500000000n` is `"1.5"`. */
export const decimalFromNano = (amount: Nano): string => decimalOfParts(amount, 9)

/** The same for an amount that counts parts with this many decimal places. */
export const decimalOfParts = (amount: bigint, places: number): string =>
  amount < 0n ? `-${decimalOf((-amount).toString(), places)}` : decimalOf(amount.toString(), places)

/** Writes digits as a decimal with `places` places, without trailing zeros: (`1500`, 3) is `1.5`. */
export const decimalOf = (digits: string, places: number): string => {
  const all = digits.padStart(places + 1, '0')
  const point = all.length - places
  let end = all.length
  while (end > point && all[end - 1] === '0') end--
  return end === point ? all.slice(0, point) : `${all.slice(0, point)}.${all.slice(point, end)}`
}

/**
 * A number for JSON.stringify alone, which writes one that has more digits than a float from its text. Sentences are made
 * of the text itself.
 */
export type ExactNumber = number | RawJson

type RawJson = { readonly rawJSON: string }

declare global {
  interface JSON {
    /** Source: ECMAScript, "JSON.rawJSON", which the types of the language do not have yet. */
    rawJSON(text: string): RawJson
  }
}

/** Every decimal of as many digits comes back from a float as it was. */
const FLOAT_DIGITS = 15

/** Below this JavaScript writes a float as 1.2e-7, which people and shells do not read as an amount. */
const TINY = /^-?0\.000000/

/** A decimal text as a JSON number, exact to the last digit and without an exponent. */
export const exactNumber = (decimal: string): ExactNumber =>
  TINY.test(decimal) || (decimal.length > FLOAT_DIGITS && decimal.replace(/[-.]/g, '').length > FLOAT_DIGITS)
    ? JSON.rawJSON(decimal)
    : Number(decimal)

/** Nano-USD as a JSON number of USD, for display members such as `spent_usd`; never read back as money. */
export const usdNumber = (amount: Nano): ExactNumber => exactNumber(decimalFromNano(amount))

/** Reads a decimal string of USD per million units into pico-USD per unit; undefined when it is not exact. */
export const picoFromPerMillion = (usdPerMillion: string): Pico | undefined => {
  const nano = nanoFromDecimal(usdPerMillion)
  if (nano === undefined || nano % PICO_PER_NANO !== 0n) return undefined
  const pico = Number(nano / PICO_PER_NANO)
  return Number.isSafeInteger(pico) ? pico : undefined
}

/** Writes a unit price as an exact decimal of USD per million units: pico-USD a unit is micro-USD a million units. */
export const perMillionFromPico = (price: Pico): string => decimalOf(String(price), 6)

/** Rounds a sum of pico-USD up to nano-USD: the only rounding in a call. */
export const nanoFromPicoUp = (pico: bigint): Nano => (pico + PICO_PER_NANO - 1n) / PICO_PER_NANO

/** The same for a sum that is a safe integer, as nearly every sum is. */
export const nanoFromSafePicoUp = (pico: number): Nano => {
  const over = pico % 1_000
  return BigInt((pico - over) / 1_000 + (over > 0 ? 1 : 0))
}

export const least = (a: Nano, b: Nano): Nano => (a < b ? a : b)
export const greatest = (a: Nano, b: Nano): Nano => (a > b ? a : b)

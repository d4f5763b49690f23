/**
 * The forms that a setting's text may have: each parses the text to its type, once, and says in words what is allowed.
 */
import { type AddressBlock, readBlock } from '../core/address.ts'
import { type Nano, nanoFromDecimal } from '../core/money.ts'
import { Secret } from '../core/secret.ts'
import { DAY_MS, HOUR_MS } from '../core/time.ts'

/** The parsed value, or the part of the text that is not allowed. */
type Reading<T> = { readonly value: T } | { readonly unfit: string }

export type Form<T> = {
  /** Follows `must be` in messages, and is printed in docs/settings.md. */
  readonly allowed: string
  /** Never shown, not even when it is wrong. */
  readonly secret?: true
  readonly read: (text: string) => Reading<T>
}

/** A form from a function that parses a text; undefined refuses it. */
const formOf = <T>(allowed: string, parse: (text: string) => T | undefined): Form<T> => ({
  allowed,
  read: (text) => {
    const value = parse(text)
    return value === undefined ? { unfit: text } : { value }
  },
})

const wholeWithin = (text: string, least: number, most: number): number | undefined => {
  const value = /^\d{1,15}$/.test(text) ? Number.parseInt(text, 10) : -1
  return value >= least && value <= most ? value : undefined
}

/** A whole number, both bounds included; `of` names what it counts. */
export const integer = (least: number, most: number, of?: string): Form<number> =>
  formOf(`a number${of === undefined ? '' : ` of ${of}`} from ${least} to ${most}`, (text) =>
    wholeWithin(text, least, most),
  )

/** A whole number, or this word, which becomes undefined; `of` names what it counts. */
export const integerOr = (
  word: string,
  least: number,
  most: number,
  of?: string,
): Form<number | undefined> => {
  const number = integer(least, most, of)
  return {
    allowed: `${number.allowed}, or ${word}`,
    read: (text) => (text === word ? { value: undefined } : number.read(text)),
  }
}

const unitMs = { seconds: 1_000, hours: HOUR_MS, days: DAY_MS }

/** A time span in whole units, parsed to milliseconds. */
export const duration = (unit: keyof typeof unitMs, least: number, most: number): Form<number> =>
  formOf(`a number of ${unit} from ${least} to ${most}`, (text) => {
    const units = wholeWithin(text, least, most)
    return units === undefined ? undefined : units * unitMs[unit]
  })

const amountWithin = (text: string, least: Nano): Nano | undefined => {
  const amount = /^\d{1,10}(\.\d{1,9})?$/.test(text) ? nanoFromDecimal(text) : undefined
  return amount !== undefined && amount >= least ? amount : undefined
}

/** A share, from none to all. */
export const share = (): Form<number> =>
  formOf('a number from 0 to 1', (text) =>
    /^(0|1|1\.0{1,9}|0?\.\d{1,9})$/.test(text) ? Number(text) : undefined,
  )

/** Money in USD, to the nano-dollar. */
export const amount = (): Form<Nano> => formOf('a decimal amount', (text) => amountWithin(text, 0n))
export const amountAboveZero = (): Form<Nano> =>
  formOf('a decimal amount above 0', (text) => amountWithin(text, 1n))

/** One of these words; the message joins the last two with `or`. */
export const oneOf = <const Words extends readonly [string, string, ...string[]]>(
  ...words: Words
): Form<Words[number]> =>
  formOf<Words[number]>(`${words.slice(0, -1).join(', ')} or ${words.at(-1)}`, (text) =>
    words.find((word) => word === text),
  )

export const onOff = (): Form<boolean> =>
  formOf('on or off', (text) => (text === 'on' ? true : text === 'off' ? false : undefined))

/** A text that matches this pattern. */
export const matching = (shape: RegExp, allowed: string): Form<string> =>
  formOf(allowed, (text) => (shape.test(text) ? text : undefined))

/** A path, or `off`, which becomes undefined. */
export const pathOrOff = (): Form<string | undefined> => ({
  allowed: 'a path or off',
  read: (text) => ({ value: text === 'off' ? undefined : text }),
})

/** A port on an address of this machine, or one of these words. */
type Place = { readonly host: string; readonly port: number }

const PLACE = /^(?:(\[[0-9a-f:.]+\]|[\w.-]+):)?(\d{1,5})$/i

/** `port`, `host:port`, or one of the words; without a host it is the loopback address. */
export const place = <const Words extends readonly string[]>(
  ...words: Words
): Form<Words[number] | Place> => ({
  ...formOf<Words[number] | Place>(`${words.join(', ')}, a port or host:port`, (text) => {
    const word = words.find((one) => one === text)
    if (word !== undefined) return word
    const [, host = '127.0.0.1', digits = ''] = PLACE.exec(text) ?? []
    const port = wholeWithin(digits, 1, 65_535)
    return port === undefined ? undefined : { host: host.replace(/^\[|\]$/g, ''), port }
  }),
})

/** A text that is not shown when it is wrong, and is passed on unchanged. */
export const unshown = (shape: RegExp, allowed: string): Form<string> => ({
  ...matching(shape, allowed),
  secret: true,
})

/** A secret. */
export const secret = (shape: RegExp, allowed: string): Form<Secret> => ({
  ...formOf(allowed, (text) => (shape.test(text) ? new Secret(text) : undefined)),
  secret: true,
})

const readParts = <T>(of: Form<T>, parts: readonly string[]): Reading<readonly T[]> => {
  const value: T[] = []
  for (const part of parts) {
    const read = of.read(part)
    if ('unfit' in read) return read
    value.push(read.value)
  }
  return { value }
}

/** Items between commas, each of the given form; blanks and empty items are ignored. `allowed` describes them all. */
export const list = <T>(of: Form<T>, allowed: string): Form<readonly T[]> => ({
  ...of,
  allowed,
  read: (text) => {
    const parts = text.split(',').map((part) => part.trim())
    return readParts(
      of,
      parts.filter((part) => part !== ''),
    )
  },
})

/** The same, exactly as written, with at least one item. */
export const listOfSome = <T>(of: Form<T>, allowed: string): Form<readonly [T, ...T[]]> => ({
  ...of,
  allowed,
  read: (text) => {
    const read = readParts(of, text.split(','))
    if ('unfit' in read) return read
    const [first, ...others] = read.value
    return first === undefined ? { unfit: text } : { value: [first, ...others] }
  },
})

/** Addresses and blocks of addresses. */
export const block = (): Form<AddressBlock> => formOf('an address or a block', readBlock)

/**
 * What can be looked for in a text: secrets by their prefixes and checksums, numbers of people by theirs. Each looks at one
 * place, reads a bounded number of letters, and says where what begins there ends. Its expressions repeat nothing without an
 * end and nothing inside of a repetition, so they cannot run away.
 */
import { codiceFiscale, cpf, germanTaxId, gitHub, iban, luhn, nir, spanish } from './checksums.ts'
import { type Detector, isAlnum, isDigit, isLocal, isUpper, MORE, NONE } from './letters.ts'

type Form = {
  /** It begins with one of these texts; else with a letter of which `begins` is true. */
  readonly heads?: readonly string[]
  readonly begins?: (code: number) => boolean
  /** All that may stand in it: a find depends on these letters and on the one behind them. */
  readonly run: RegExp
  /** How many letters of numbers and codes it has at least. */
  readonly least?: number
  readonly form: RegExp
  /** Whether its letters and digits are one, by their checksum. */
  readonly holds?: (letters: string) => boolean
}

const startsWithOne = (heads: readonly string[], text: string, at: number): boolean =>
  heads.some(
    (head) =>
      text.startsWith(head, at) || (text.length - at < head.length && head.startsWith(text.slice(at))),
  )

/** No run is longer. */
const RUN_MOST = 8_192

const detector = (name: string, { heads = [], begins, run, least, form, holds }: Form): Detector => {
  const firsts = new Set(heads.map((head) => head.charCodeAt(0)))
  return {
    name,
    label: name.toUpperCase(),
    begins: begins ?? ((code) => firsts.has(code)),
    ...(least === undefined ? {} : { least }),
    match: (text, at, ended) => {
      if (heads.length > 0 && !startsWithOne(heads, text, at)) return NONE
      if (!ended && text.length - at <= RUN_MOST) {
        run.lastIndex = at
        run.test(text)
        if (run.lastIndex === text.length) return MORE
      }
      form.lastIndex = at
      const found = form.exec(text)?.[0]
      if (found === undefined || holds?.(found.replace(/[ ./-]/g, '')) === false) return NONE
      return at + found.length
    },
  }
}

/** Heads as an expression, and then so many letters of a kind. */
const secret = (name: string, heads: readonly string[], rest: string): Detector =>
  detector(name, {
    heads,
    run: /[\w+/=%-]{1,260}/y,
    form: new RegExp(`(?:${heads.join('|')})${rest}(?![A-Za-z0-9])`, 'y'),
  })

const HEADER = '-----BEGIN '
const HEADER_FORM = /-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----/y
const HEADER_MOST = 80
/** No key in use is longer. */
const BLOCK_MOST = 16_384

/** A private key from its first to its last line; if that is far away or missing, all that is there. */
const privateKey: Detector = {
  name: 'private_key',
  label: 'PRIVATE_KEY',
  begins: (code) => code === 45,
  match: (text, at, ended) => {
    if (!startsWithOne([HEADER], text, at)) return NONE
    HEADER_FORM.lastIndex = at
    if (!HEADER_FORM.test(text)) return text.length - at < HEADER_MOST && !ended ? MORE : NONE
    const part = text.slice(HEADER_FORM.lastIndex, at + BLOCK_MOST)
    const end = /-----END [A-Z ]{0,60}-----/.exec(part)
    if (end !== null) return HEADER_FORM.lastIndex + end.index + end[0].length
    return text.length - at < BLOCK_MOST && !ended ? MORE : Math.min(text.length, at + BLOCK_MOST)
  },
}

const gitHubTokens = detector('github_token', {
  heads: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_'],
  run: /\w{1,94}/y,
  form: /(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{82})(?!\w)/y,
  holds: (token) => token.startsWith('github') || gitHub(token),
})

const secrets: readonly Detector[] = [
  secret('anthropic_key', ['sk-ant-'], '[\\w-]{20,200}'),
  secret(
    'openai_key',
    ['sk-proj-', 'sk-svcacct-', 'sk-admin-', 'sk-'],
    '(?:(?<=-(?:proj|svcacct|admin)-)[\\w-]{20,200}|(?<!-\\w{1,9}-)[A-Za-z0-9]{48})',
  ),
  // As gateway/parts/new-token.ts makes them, and control/machines.ts.
  secret('turnpike_key', ['sk-', 'tm-'], '[A-Za-z0-9]{43}'),
  secret('aws_key', ['AKIA', 'ASIA'], '[A-Z2-7]{16}'),
  gitHubTokens,
  secret('stripe_key', ['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_', 'whsec_'], '[A-Za-z0-9+/=]{16,200}'),
  secret('slack_token', [...'bparsecd'].map((kind) => `xox${kind}-`).concat('xapp-'), '[\\w%-]{10,250}'),
  secret('google_key', ['AIza'], '[\\w-]{35}'),
  detector('jwt', {
    heads: ['eyJ'],
    run: /[\w.-]{1,8192}/y,
    form: /eyJ[\w-]{5,4000}\.eyJ[\w-]{5,4000}\.[\w-]{1,2000}/y,
  }),
  privateKey,
]

/** Groups of digits with a space, dash or dot between them, or with nothing. */
const personal = (
  name: string,
  begins: (code: number) => boolean,
  form: RegExp,
  holds?: (letters: string) => boolean,
) =>
  detector(name, {
    begins,
    least: 9,
    run: /[\dA-Z ./-]{1,48}/y,
    form,
    ...(holds === undefined ? {} : { holds }),
  })

const ADDRESS = /[\w.%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,63}(?![A-Za-z0-9])/y
const LOCAL_MOST = 64
const ADDRESS_MOST = 330

/** Where the first @ from a place on is, in the text that was looked at last. */
let nextAt = { text: '', from: 0, found: 0 }

/** Each word may be one, so this is read by hand up to the @. */
const email: Detector = {
  name: 'email',
  label: 'EMAIL',
  begins: (code) => isLocal(code) && code !== 46,
  match: (text, at, ended) => {
    // Where no @ is near there is none.
    if (at < nextAt.from || at > nextAt.found || nextAt.text !== text) {
      const found = text.indexOf('@', at)
      nextAt = { text, from: at, found: found < 0 ? Number.POSITIVE_INFINITY : found }
    }
    if (nextAt.found - at > LOCAL_MOST && (ended || text.length - at > LOCAL_MOST)) return NONE
    let here = at
    while (here < text.length && here - at <= LOCAL_MOST && isLocal(text.charCodeAt(here))) here++
    if (here === text.length) return ended ? NONE : MORE
    if (text.charCodeAt(here) !== 64) return NONE
    const most = at + ADDRESS_MOST
    do here++
    while (
      here < text.length &&
      here < most &&
      (isAlnum(text.charCodeAt(here)) || '.-'.includes(text[here] ?? ''))
    )
    if (here === text.length && !ended) return MORE
    ADDRESS.lastIndex = at
    return ADDRESS.test(text) ? ADDRESS.lastIndex : NONE
  },
}

/** Areas 000, 666 and from 900 on, group 00 and number 0000 were never given; nine digits alone are too many other numbers. */
const SSN = /(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![A-Za-z0-9])/y
/** HMRC gives no D, F, I, Q, U or V, no O in the second place, and not all prefixes. */
const NINO =
  /(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d\d ?\d\d ?\d\d ?[A-D](?![A-Za-z0-9])/y
const CARD = /(?:\d{14,19}|\d{4}([ -]?)\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{5})(?![A-Za-z0-9])/y
const PHONE =
  /(?:\+\d(?:[ ()./-]{0,2}\d){7,14}|\(\d{3}\) ?\d{3}-\d{4}|\d{3}([-.])\d{3}\1\d{4})(?![A-Za-z0-9])/y

const personals: readonly Detector[] = [
  email,
  detector('phone', {
    begins: (code) => isDigit(code) || code === 43 || code === 40,
    least: 8,
    run: /[\d ()./+-]{1,48}/y,
    form: PHONE,
  }),
  personal('card', isDigit, CARD, luhn),
  personal('iban', isUpper, /[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/y, iban),
  personal('us_ssn', isDigit, SSN),
  personal(
    'es_dni',
    (code) => isDigit(code) || (code >= 88 && code <= 90),
    /(?:\d{8}|[XYZ][ -]?\d{7})[ -]?[A-Z](?![A-Za-z0-9])/y,
    spanish,
  ),
  personal(
    'it_codice_fiscale',
    isUpper,
    /[A-Z]{6}[A-Z0-9]{2}[A-Z][A-Z0-9]{2}[A-Z][A-Z0-9]{3}[A-Z](?![A-Za-z0-9])/y,
    codiceFiscale,
  ),
  personal('fr_nir', isDigit, /[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d(?![A-Za-z0-9])/y, nir),
  personal('br_cpf', isDigit, /\d{3}\.?\d{3}\.?\d{3}-?\d\d(?![A-Za-z0-9])/y, cpf),
  personal('de_tax_id', isDigit, /\d\d ?\d{3} ?\d{3} ?\d{3}(?![A-Za-z0-9])/y, germanTaxId),
  personal('uk_nino', isUpper, NINO),
]

export const detectors: readonly Detector[] = [...secrets, ...personals]

/** What a rule may name beside the detectors. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  secrets: secrets.map(({ name }) => name),
  personal: personals.map(({ name }) => name),
}

/**
 * What can be looked for in a text: secrets by their prefixes and checksums, numbers of people by theirs. Each looks at one
 * place, reads a bounded number of letters, and says where what begins there ends. Its expressions repeat nothing without an
 * end and nothing inside of a repetition, so they cannot run away.
 */
import { codiceFiscale, cpf, germanTaxId, gitHub, iban, luhn, nir, spanish } from './checksums.ts'
import { type Detector, isAlnum, isDigit, isLocal, isUpper, MORE, NONE } from './letters.ts'
import { isUnspaced, isWide } from './reading.ts'

type Form = {
  /** It begins with one of these texts; else with a letter of which `begins` is true. */
  readonly heads?: readonly string[]
  readonly begins?: (code: number) => boolean
  /** All that may stand in it: a find depends on these letters and on the one behind them. */
  readonly run: RegExp
  /** What its first letters must be, as a `Detector` says. */
  readonly gate?: Pick<Detector, 'digits' | 'runs'>
  readonly form: RegExp
  /** Whether its letters and digits are one, by their checksum. */
  readonly holds?: (letters: string) => boolean
  /** Without its last group it may be one too: a word behind it can look like a group. */
  readonly shorter?: true
}

const startsWithOne = (heads: readonly string[], text: string, at: number): boolean =>
  heads.some(
    (head) =>
      text.startsWith(head, at) || (text.length - at < head.length && head.startsWith(text.slice(at))),
  )

/** No run is longer. */
const RUN_MOST = 8_192

const detector = (name: string, { heads = [], begins, run, gate, form, holds, shorter }: Form): Detector => {
  const firsts = new Set(heads.map((head) => head.charCodeAt(0)))
  return {
    name,
    label: name.toUpperCase(),
    begins: begins ?? ((code) => firsts.has(code)),
    ...gate,
    ...(heads.length === 0 ? {} : { seconds: new Set(heads.map((head) => head.charCodeAt(1))) }),
    match: (text, at, ended) => {
      if (heads.length > 0 && !startsWithOne(heads, text, at)) return NONE
      if (!ended && text.length - at <= RUN_MOST) {
        run.lastIndex = at
        run.test(text)
        if (run.lastIndex === text.length) return MORE
      }
      form.lastIndex = at
      let found = form.exec(text)?.[0] ?? ''
      while (found !== '' && holds?.(found.replace(/[ ./-]/g, '')) === false)
        found = shorter === true ? found.slice(0, Math.max(0, found.lastIndexOf(' '))) : ''
      return found === '' ? NONE : at + found.length
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
  seconds: new Set([45]),
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
  secret('turnpike_key', ['sk-', 'tm-'], '(?:[a-z][a-z0-9]{0,7}-)?[A-Za-z0-9]{43}'),
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

/** A bit for each length. */
const lengths = (...those: readonly number[]): number => those.reduce((bits, one) => bits | (1 << one), 0)

/** Groups of digits with a space, dash or dot between them, or with nothing; the first has one of these lengths. */
const personal = (
  name: string,
  begins: (code: number) => boolean,
  first: readonly number[],
  digits: number,
  form: RegExp,
  more: Pick<Form, 'holds' | 'shorter'> = {},
) =>
  detector(name, {
    begins,
    gate: { digits, runs: lengths(...first) },
    run: /[\dA-Z ./-]{1,48}/y,
    form,
    ...more,
  })

const WIDE = '\\p{L}\\p{Mc}\\p{N}'
/** Names of domains in any script; what stands behind one without a space is none of it where the script changes. */
const ADDRESS = new RegExp(
  `[\\w.%+${WIDE}-]{1,64}@(?:[A-Za-z0-9${WIDE}-]{1,63}\\.){1,8}` +
    `(?:xn--[A-Za-z0-9-]{2,59}|[A-Za-z]{2,63}(?![A-Za-z0-9])|(?:(?![A-Za-z0-9])[${WIDE}]){2,63})`,
  'yu',
)
const LOCAL_MOST = 64
/** Where no spaces tell words apart, so many letters before the @ are taken. */
const UNSPACED_MOST = 4
const ADDRESS_MOST = 330

const isSpaced = (code: number): boolean => isLocal(code) || (isWide(code) && !isUnspaced(code))

/** Each word may be one, so this is read by hand up to the @. */
const email: Detector = {
  name: 'email',
  label: 'EMAIL',
  wide: true,
  at: LOCAL_MOST,
  begins: (code) => isLocal(code) && code !== 46,
  match: (text, at, ended) => {
    const [most, isPart] = isUnspaced(text.charCodeAt(at))
      ? ([UNSPACED_MOST, isUnspaced] as const)
      : ([LOCAL_MOST, isSpaced] as const)
    let here = at
    while (here < text.length && here - at < most && isPart(text.charCodeAt(here))) here++
    if (here === text.length) return ended ? NONE : MORE
    if (here === at || text.charCodeAt(here) !== 64) return NONE
    const end = Math.min(text.length, at + ADDRESS_MOST)
    do here++
    while (here < end && isOfDomain(text.charCodeAt(here)))
    if (here === text.length && !ended) return MORE
    ADDRESS.lastIndex = at
    return ADDRESS.test(text) ? ADDRESS.lastIndex : NONE
  },
}

const isOfDomain = (code: number): boolean => isAlnum(code) || code === 45 || code === 46 || isWide(code)

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
    gate: { digits: 8, runs: lengths(0, 3) },
    run: /[\d ()./+-]{1,48}/y,
    form: PHONE,
  }),
  personal('card', isDigit, [4, 14, 15, 16, 17, 18, 19], 14, CARD, { holds: luhn }),
  personal(
    'iban',
    isUpper,
    [2],
    2,
    /[A-Z]{2}\d\d(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])/y,
    {
      holds: iban,
      shorter: true,
    },
  ),
  personal('us_ssn', isDigit, [3], 9, SSN),
  personal(
    'es_dni',
    (code) => isDigit(code) || (code >= 88 && code <= 90),
    [1, 8],
    7,
    /(?:\d{8}|[XYZ][ -]?\d{7})[ -]?[A-Z](?![A-Za-z0-9])/y,
    { holds: spanish },
  ),
  personal(
    'it_codice_fiscale',
    isUpper,
    [6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16],
    0,
    /[A-Z]{6}[A-Z0-9]{2}[A-Z][A-Z0-9]{2}[A-Z][A-Z0-9]{3}[A-Z](?![A-Za-z0-9])/y,
    { holds: codiceFiscale },
  ),
  personal(
    'fr_nir',
    isDigit,
    [1, 3, 5, 6, 7, 10, 13, 15],
    6,
    /[12] ?\d\d ?\d\d ?\d[\dAB] ?\d{3} ?\d{3} ?\d\d(?![A-Za-z0-9])/y,
    { holds: nir },
  ),
  personal('br_cpf', isDigit, [3, 6, 9, 11], 11, /\d{3}\.?\d{3}\.?\d{3}-?\d\d(?![A-Za-z0-9])/y, {
    holds: cpf,
  }),
  personal('de_tax_id', isDigit, [2, 5, 8, 11], 11, /\d\d ?\d{3} ?\d{3} ?\d{3}(?![A-Za-z0-9])/y, {
    holds: germanTaxId,
  }),
  personal('uk_nino', isUpper, [2], 6, NINO),
]

export const detectors: readonly Detector[] = [...secrets, ...personals]

/** What a rule may name beside the detectors. */
export const groups: Readonly<Record<string, readonly string[]>> = {
  secrets: secrets.map(({ name }) => name),
  personal: personals.map(({ name }) => name),
}

/** Detectors find what they should, however a text is cut, and in linear time. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { detectors } from './detectors.ts'
import { maskBody } from './mask-body.ts'
import { ownDetector } from './own-pattern.ts'
import { Scan, Scanner, type Watched } from './scanner.ts'

const SEED = Number(process.env.SEED ?? 20_261)
const SPLITS = Number(process.env.SPLITS ?? 20_000)

const randomFrom = (seed: number) => {
  let state = seed >>> 0
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 4_294_967_296) * below)
  }
}

const gitHubToken = 'ghp_' + 'a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5'
const withCheck = (() => {
  const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let value = Bun.hash.crc32(gitHubToken.slice(4))
  let check = ''
  for (let at = 0; at < 6; at++) {
    check = `${letters[value % 62]}${check}`
    value = Math.floor(value / 62)
  }
  return gitHubToken + check
})()

/** By detector: what it finds, and what looks alike. */
const samples: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  anthropic_key: [[`sk-ant-api03-${'aB3_'.repeat(20)}`], ['sk-ant-short']],
  openai_key: [[`sk-proj-${'aB3-'.repeat(20)}`, `sk-${'aB3d'.repeat(12)}`], [`sk-${'aB3d'.repeat(13)}`]],
  turnpike_key: [[`sk-${'a'.repeat(43)}`, `tm-${'7'.repeat(43)}`], [`sk-${'a'.repeat(42)}`]],
  aws_key: [['AKIAIOSFODNN7EXAMPLE'], ['AKIAIOSFODNN7EXAMPL', 'AKIAIOSFODNN7EXAMPLE1']],
  github_token: [
    [withCheck, `github_pat_${'a1'.repeat(41)}`],
    [`${withCheck.slice(0, -1)}${withCheck.endsWith('a') ? 'b' : 'a'}`],
  ],
  stripe_key: [[`sk_live_${'4e'.repeat(12)}`, `whsec_${'Ab1/'.repeat(8)}`], ['sk_live_short']],
  slack_token: [['xoxb-123456789012-abcdefghij'], ['xoxb-1']],
  google_key: [[`AIza${'Sy-_9'.repeat(7)}`], [`AIza${'Sy-_9'.repeat(6)}`]],
  jwt: [['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl'], ['eyJhbGciOiJIUzI1NiJ9.plain.text']],
  private_key: [
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----'],
    ['-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----'],
  ],
  email: [
    ['ann.o+x@mail.example.com', 'a@b.io'],
    ['a@b', 'ann at example.com', '@example.com'],
  ],
  phone: [
    ['+49 30 1234567', '(555) 123-4567', '555-123-4567', '+442071838750'],
    ['+12', '2026-11-26', '555-1234'],
  ],
  card: [['4111 1111 1111 1111', '378282246310005', '5555-5555-5555-4444'], ['4111 1111 1111 1112']],
  iban: [['DE89370400440532013000', 'GB82 WEST 1234 5698 7654 32'], ['DE88370400440532013000']],
  us_ssn: [['123-45-6789'], ['000-45-6789', '123-00-6789', '912-45-6789', '123456789']],
  es_dni: [
    ['12345678Z', 'X1234567L'],
    ['12345678A', 'X1234567A'],
  ],
  it_codice_fiscale: [['RSSMRA85T10A562S'], ['RSSMRA85T10A562T']],
  fr_nir: [['255081416802538', '2 55 08 14 168 025 38'], ['255081416802539']],
  br_cpf: [
    ['529.982.247-25', '52998224725'],
    ['529.982.247-26', '111.111.111-11'],
  ],
  de_tax_id: [['86095742719', '86 095 742 719'], ['86095742718']],
  uk_nino: [
    ['QQ123456C'.replace('QQ', 'AB'), 'AB 12 34 56 C'],
    ['QQ123456C', 'AB123456E'],
  ],
}

const only = (name: string) =>
  new Scanner(detectors.filter((one) => one.name === name).map((detector) => ({ detector, action: 'mask' })))

const foundIn = (scanner: Scanner, pieces: readonly string[]): readonly string[] => {
  const found: string[] = []
  const scan = new Scan(scanner, () => undefined)
  const take = (given: ReturnType<Scan['feed']>) => {
    let at = 0
    for (const { length, found: detector } of given) {
      if (detector !== undefined) found.push(`${detector.name} ${scan.taken.slice(at, at + length)}`)
      at += length
    }
  }
  for (const piece of pieces) take(scan.feed(piece, false))
  take(scan.feed('', true))
  return found
}

test('each detector finds its own and nothing that only looks alike', () => {
  expect(Object.keys(samples)).toEqual(detectors.map(({ name }) => name))
  for (const [name, [those, others]] of Object.entries(samples)) {
    for (const text of those)
      for (const around of [text, `so ${text}, and`, `("${text}")`, `line\\n${text} `, `\\u00fc${text}\\n`])
        expect(foundIn(only(name), [around])).toEqual([`${name} ${text}`])
    for (const text of others) expect([text, foundIn(only(name), [`is ${text} it`])]).toEqual([text, []])
  }
})

const all = new Scanner([
  ...detectors.map(
    (detector, at): Watched => ({ detector, action: (['mask', 'block', 'log'] as const)[at % 3] ?? 'log' }),
  ),
  ...detectors.map((detector): Watched => ({ detector, action: 'mask' })),
])

/** All that a scan tells: what passes, what is replaced, and what is noted. */
const told = (scanner: Scanner, pieces: readonly string[]) => {
  const noted: string[] = []
  let out = ''
  const scan = new Scan(scanner, (detector, action) => noted.push(`${action} ${detector.name}`))
  for (const [at, piece] of [...pieces, ''].entries()) {
    let from = 0
    for (const { length, found } of scan.feed(piece, at === pieces.length)) {
      out += found === undefined ? scan.taken.slice(from, from + length) : `<${found.name}>`
      from += length
    }
  }
  return { out, noted: noted.sort() }
}

test(`a text in any pieces gives what the whole gives (seed ${SEED}, ${SPLITS} splits)`, () => {
  const random = randomFrom(SEED)
  const parts = [
    ...Object.values(samples).flatMap(([those, others]) => [...those, ...others]),
    ' ',
    ', ',
    '-',
    '.',
    '@',
    'sk-',
    '+',
    '\\n',
    'ü',
    'word',
    'A1',
    '-----BEGIN ',
  ]
  for (let count = 0; count < SPLITS; count++) {
    let text = ''
    for (let more = random(6); more >= 0; more--) {
      const part = parts[random(parts.length)] ?? ''
      text += part.slice(random(4) === 0 ? random(part.length) : 0) + (random(2) === 0 ? ' ' : '')
    }
    const pieces: string[] = []
    const most = 1 + random(12)
    for (let at = 0; at < text.length; ) {
      const length = 1 + random(most)
      pieces.push(text.slice(at, at + length))
      at += length
    }
    expect([text, told(all, pieces)]).toEqual([text, told(all, [text])])
  }
})

test('own patterns find what they say, and those that could run away are refused by name', () => {
  const own = (pattern: string) => {
    const detector = ownDetector('own', pattern)
    if (typeof detector === 'string') throw new Error(detector)
    return new Scanner([{ detector, action: 'mask' }])
  }
  expect(foundIn(own('EMP-\\d{6}'), ['see EMP-123', '456 and EMP-1234567'])).toEqual(['own EMP-123456'])
  expect(foundIn(own('[A-C]{1,3}x?\\.'), ['ABCx. D. A.'])).toEqual(['own ABCx.', 'own A.'])
  expect(foundIn(own('Ünï\\d'), ['so Ünï7'])).toEqual(['own Ünï7'])
  for (const [pattern, said] of [
    ['(a+)+$', /'\(a'/],
    ['a*', /'\*'/],
    ['a|b', /'\|b'/],
    ['\\bword', /'\\b'/],
    ['a{200}', /at most 31/],
    ['a?', /at least one letter/],
    ['[a', /'\[a'/],
  ] as const)
    expect(String(ownDetector('own', pattern))).toMatch(said)
})

test('no text takes more than linear time', async () => {
  const own = ownDetector('own', '[a ]{1,30}b')
  if (typeof own === 'string') throw new Error(own)
  const scanner = new Scanner([...all.watched, { detector: own, action: 'mask' }])
  for (const unit of [
    'a',
    'a ',
    'a.',
    '1-',
    '-',
    'eyJ',
    '-----BEGIN ',
    'DE89 ',
    '+1 ',
    '4111 ',
    'sk-ant-',
    'é',
  ])
    await mustBeLinear((n) => told(scanner, [unit.repeat(n)]), 10_000)
})

test('bytes that nothing is found in stay as they are', () => {
  const body = '{ "model":"m", "messages":[{"role":"user","content":"h\\u0069 \\/ there"}],\n"n":1.0 }'
  expect(maskBody(body, all, () => undefined).json).toBe(body)
  const masked = maskBody(
    '{"a": "x@y.de  x@y.de [EMAIL_1]", "b@c.de" : 4111111111111111}',
    only('email'),
    () => undefined,
  )
  expect(masked.json).toBe('{"a": "[EMAIL_2]  [EMAIL_2] [EMAIL_1]", "[EMAIL_3]" : 4111111111111111}')
  expect(masked.vault.value('[EMAIL_2]')).toBe('x@y.de')
})

/** Samples of what detectors find, and what a scan finds, for tests. */
import { detectors } from '../src/guardrails/detectors.ts'
import { Scan, Scanner } from '../src/guardrails/scanner.ts'

export const SEED = Number(process.env.SEED ?? 20_261)

export const randomFrom = (seed: number) => {
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
export const samples: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
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

export const only = (name: string) =>
  new Scanner(detectors.filter((one) => one.name === name).map((detector) => ({ detector, action: 'mask' })))

export const foundIn = (scanner: Scanner, pieces: readonly string[]): readonly string[] => {
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

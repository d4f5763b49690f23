/** Detectors find what they should, however a text is cut, and in linear time. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { foundIn, only, randomFrom, SEED, samples } from '../../test/detector-samples.ts'
import { detectors } from './detectors.ts'
import { maskBody } from './mask-body.ts'
import { ownDetector } from './own-pattern.ts'
import { Scan, Scanner, type Watched } from './scanner.ts'

const SPLITS = Number(process.env.SPLITS ?? 20_000)

test('each detector finds its own and nothing that only looks alike', () => {
  expect(Object.keys(samples)).toEqual(detectors.map(({ name }) => name))
  for (const [name, [those, others]] of Object.entries(samples)) {
    for (const text of those)
      for (const around of [text, `so ${text}, and`, `("${text}")`, `line\\n${text} `, `\\u00a7${text}\\n`])
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

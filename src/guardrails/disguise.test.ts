/** What detectors find is found in other forms of its letters too, however it is cut, and comes back as it was sent. */
import { expect, test } from 'bun:test'
import { mustBeLinear } from '../../test/cpu-growth.ts'
import { foundIn, only, randomFrom, SEED, samples } from '../../test/detector-samples.ts'
import { AnswerGuard } from './answer-guard.ts'
import { detectors } from './detectors.ts'
import { maskBody } from './mask-body.ts'
import { ownDetector } from './own-pattern.ts'
import { Scanner } from './scanner.ts'

const SPLITS = Number(process.env.SPLITS ?? 8)

const each =
  (letters: RegExp, other: (letter: string) => string) =>
  (text: string): string =>
    text.replace(letters, other)
const moved = (letters: RegExp, by: number) =>
  each(letters, (letter) => String.fromCodePoint(letter.charCodeAt(0) + by))
const escaped = (text: string): string =>
  [...text]
    .flatMap((letter) => letter.split(''))
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
const wide = moved(/[!-~]/g, 0xfee0)

const ways: Readonly<Record<string, (text: string) => string>> = {
  'no-break spaces': each(/ /g, () => '\u00a0'),
  'thin spaces': each(/ /g, () => '\u2009'),
  'no-break hyphens': each(/-/g, () => '\u2011'),
  'minus signs': each(/-/g, () => '\u2212'),
  'full width': (text) => wide(text).replaceAll(' ', '\u3000'),
  'full width here and there': moved(/[13579aeiouAEIOU@.]/g, 0xfee0),
  'Arabic digits': moved(/\d/g, 0x660 - 48),
  'Devanagari digits': moved(/\d/g, 0x966 - 48),
  'bold digits': moved(/\d/g, 0x1d7ce - 48),
  'keys of digits': each(/\d/g, (digit) => `${digit}\ufe0f\u20e3`),
  'zero width': (text) => [...text].join('\u200b'),
  'soft hyphens': (text) => [...text].join('\u00ad\u2060'),
  'one joiner': (text) => `${text.slice(0, 5)}\u200d${text.slice(5)}`,
  underlined: each(/[A-Za-z0-9]/g, (letter) => `${letter}\u0332`),
  tags: (text) => [...text].join('\u{e0041}'),
  escapes: escaped,
  'escapes of full width': (text) => escaped(wide(text)),
  'escapes of bold digits': (text) => escaped(moved(/\d/g, 0x1d7ce - 48)(text)),
  'escapes within escapes': (text) => escaped(text).replaceAll('\\', '\\\\'),
  'escaped spaces': each(/ /g, () => '\\u00a0'),
}

const cut = (text: string, random: (below: number) => number): string[] => {
  const pieces: string[] = []
  const most = 1 + random(9)
  for (let at = 0; at < text.length; at += pieces.at(-1)?.length ?? 1)
    pieces.push(text.slice(at, at + 1 + random(most)))
  return pieces
}
const random = randomFrom(SEED)
/** The disguised sample as it is found: what is not seen behind its last letter is none of it. */
const asFound = (text: string): string => text.replace(/[\ufe0f\u20e3\u0332]+$/u, '')

test.each(Object.keys(ways))(`disguised by %s, each is found, whole and in pieces (seed ${SEED})`, (way) => {
  for (const [name, [those]] of Object.entries(samples))
    for (const sample of those) {
      const text = ways[way]?.(sample) ?? ''
      const around = `so ${text}, and`
      const wanted = [`${name} ${asFound(text)}`]
      expect(foundIn(only(name), [around])).toEqual(wanted)
      expect(foundIn(only(name), [text])).toEqual(wanted)
      expect(foundIn(only(name), [...around])).toEqual(wanted)
      for (let count = 0; count < SPLITS; count++)
        expect(foundIn(only(name), cut(around, random))).toEqual(wanted)
    }
})

test.each(Object.keys(ways))('disguised by %s, each is masked and comes back', (way) => {
  for (const [name, [[sample = '']]] of Object.entries(samples)) {
    const text = `so ${ways[way]?.(sample)}, and`
    const body = JSON.stringify({ text, [text]: 1, arguments: JSON.stringify({ to: text }) })
    const scanner = only(name)
    const { json, vault } = maskBody(body, scanner, () => undefined)
    const label = `[${name.toUpperCase()}_1]`
    expect([JSON.parse(json).text.includes(label), json.includes(sample)]).toEqual([true, false])
    const output = new Scanner([])
    const guard = new AnswerGuard({ policy: { output }, vault, noted: () => undefined })
    const back = JSON.parse(guard.texts().feed(json, true))
    expect({ ...back, arguments: JSON.parse(back.arguments) }).toEqual({
      ...JSON.parse(body),
      arguments: { to: text },
    })
  }
})

test('what is found as it was sent is found beside letters of other forms too', () => {
  const others = [
    ['\u00b2', '\u00b2'],
    ['\u200b', '\u200b7'],
    ['\u00ad', '\u00ada'],
    ['\u00a0', '\u00a01'],
    ['\uff11', '\uff11'],
    ['\u4f60', '\u4f60'],
    ['\u0663', '\u0663'],
    ['\\u0031', '\\u0031'],
  ]
  for (const [name, [those]] of Object.entries(samples))
    for (const sample of those)
      for (const [begin, other] of others)
        for (const around of [`${sample}${other}`, `x${begin}${sample}`])
          for (const pieces of [[around], [...around]]) {
            const found = foundIn(only(name), pieces)
            expect([name, around, found.length === 1 && found[0]?.includes(sample)]).toEqual([
              name,
              around,
              true,
            ])
          }
})

test('addresses in any script are found, and the words around them are none of them', () => {
  for (const [text, address] of [
    ['an ann@ex\u00e4mple.com now', 'ann@ex\u00e4mple.com'],
    ['(ren\u00e9@ex\u00e4mple.fr)', 'ren\u00e9@ex\u00e4mple.fr'],
    ['\u043d\u0430 \u043f\u043e\u0447\u0442\u0430@\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444.'],
    ['\uff1a\u7528\u6237@\u4f8b\u5b50.\u516c\u53f8\u3002', '\u7528\u6237@\u4f8b\u5b50.\u516c\u53f8'],
    ['\u8054\u7cfb\u6211ann@example.com\u5427', 'ann@example.com'],
    ['ann@\u4f8b\u3048.jp\u3002Thanks', 'ann@\u4f8b\u3048.jp'],
    ['to ann@example.com\u3002Thanks', 'ann@example.com'],
    ['at ann@xn--e1afmkfd.xn--p1ai', 'ann@xn--e1afmkfd.xn--p1ai'],
  ] as const) {
    const wanted = [`email ${address ?? text.slice(3, -1)}`]
    expect([text, foundIn(only('email'), [text])]).toEqual([text, wanted])
    expect([text, foundIn(only('email'), [...text])]).toEqual([text, wanted])
  }
  expect(foundIn(only('email'), ['\u5173\u6ce8 @example.com', '\u4f60\u597d\u3002@a'])).toEqual([])
})

test('patterns of an own read the same forms, in the text and in themselves', () => {
  const own = (pattern: string) => {
    const detector = ownDetector('own', pattern)
    if (typeof detector === 'string') throw new Error(detector)
    return new Scanner([{ detector, action: 'mask' }])
  }
  for (const pattern of ['EMP-\\d{6}', 'EMP\u2011\\d{6}', '\uff25MP[\u2013]\\d{6}'])
    for (const text of ['EMP-123456', 'EMP\u2013\uff11\uff123456', 'EM\u200bP-12345\u0666'])
      expect(foundIn(own(pattern), [`so ${text}.`])).toEqual([`own ${text}`])
})

test('an IBAN is found before a word that could be its last group', () => {
  const text = 'ES9121000418450200051332'
  expect(foundIn(only('iban'), [`${text} CAN`])).toEqual([`iban ${text}`])
  expect(foundIn(only('iban'), [`${text.replace(/.{4}(?!$)/g, '$& ')} 12/26`])).toHaveLength(1)
})

test('letters of other forms take no more than linear time, and no stream waits for those that are not seen', async () => {
  const all = new Scanner(detectors.map((detector) => ({ detector, action: 'mask' })))
  const units = [
    '\uff11',
    '4\u200b',
    '\u200b',
    '\\',
    '\\\\u',
    '\\u00a0',
    '4\u00a0',
    'a\u0301',
    '\u4f60',
    '\u044f',
    'ab\uff20',
    '\ud835',
  ]
  for (const unit of units) await mustBeLinear((n) => foundIn(all, [unit.repeat(n)]).length, 3_000)
  for (const unit of units) await mustBeLinear((n) => foundIn(all, Array(n).fill(unit)).length, 500)
})

/** Estimates by script: about right for each, the same however the text is read, and never above what was held. */
import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { testModel } from '../../test/server/harness.ts'
import type { Call } from '../core/call.ts'
import { bodyOf } from '../core/json-body.ts'
import { inputBound } from '../pricing/quote.ts'
import { lettersIn, lettersOfByte } from './dense-scripts.ts'
import { deliveredTokens, estimateUsage } from './estimate.ts'

const model = testModel('small')
const callOf = (text: string): Call => {
  const body = bodyOf({ model: 'a/b', messages: [{ role: 'user', content: text }] })
  return {
    kind: 'chat',
    dialect: 'chat',
    modelName: 'a/b',
    body,
    stream: false,
    showUsage: true,
    choices: 1,
    size: { textBytes: body.bytes.length, images: 0, audioBytes: 0 },
  }
}
const inputOf = (text: string): number => {
  const call = callOf(text)
  return estimateUsage(model, call, inputBound(model, call.size), { letters: 0, events: 0 }).input ?? 0
}
const frame = inputOf('')

test.each([
  ['English', 'The quick brown fox jumps over the lazy dog. ', 0.2, 0.34],
  ['Russian', 'Съешь же ещё этих мягких французских булок. ', 0.3, 0.67],
  ['Chinese', '天地玄黄宇宙洪荒日月盈昃辰宿列张', 0.7, 1.3],
  ['Japanese', 'いろはにほへとちりぬるを', 0.7, 1.3],
  ['Korean', '키스의고유조건은입술끼리만나야하고', 0.7, 1.3],
  ['emoji', '🧭🙂🌍', 1.3, 2],
])('%s: tokens a character, both ways', (_what, sentence, least, most) => {
  const text = sentence.repeat(50)
  const characters = [...text].length
  const each = [
    (inputOf(text) - frame) / characters,
    deliveredTokens({ letters: lettersIn(text), events: 0 }) / characters,
  ]
  for (const one of each) {
    expect(one).toBeGreaterThanOrEqual(least)
    expect(one).toBeLessThanOrEqual(most)
  }
})

test('letters are the same in a text and in its bytes', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const bytes = new TextEncoder().encode(text)
      expect(bytes.reduce((sum, byte) => sum + lettersOfByte(byte), 0)).toBe(lettersIn(text))
    }),
    { numRuns: 1_000 },
  )
})

test('no text is estimated above its bound', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
      const { size } = callOf(text)
      expect(inputOf(text)).toBeLessThanOrEqual(inputBound(model, size))
    }),
  )
})

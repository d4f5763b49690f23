/** Streams hold back only what may still become a find: counted in letters, so that no machine's speed decides. */
import { expect, test } from 'bun:test'
import { only } from '../../test/detector-samples.ts'
import { detectors } from './detectors.ts'
import { Scan, Scanner } from './scanner.ts'
import { Vault } from './vault.ts'

const PROSE = [
  'Über den Fluß; 我们看到了一只狐狸。 The quick brown fox \u{1F98A} jumps\u00a0over\n',
  'many “lazy” dogs – cafe\u0301, \uff26\uff35\uff2c\uff2c, 12 of 40 in 2026.\n',
].join('')

/** The most letters that are held at once, if the text comes letter by letter. */
const mostHeld = (scanner: Scanner, text: string): number => {
  const scan = new Scan(scanner, () => undefined)
  let most = 0
  let held = 0
  for (const letter of text) {
    held += letter.length
    for (const { length } of scan.feed(letter, false)) held -= length
    most = Math.max(most, held)
  }
  return most
}

/** A word, or a group of numbers, of the text above; all others hold nothing. */
const may: Readonly<Record<string, number>> = { email: 5, phone: 9 }

test('a text in which nothing may begin is given on letter by letter', () => {
  const vault = new Vault('')
  expect(mostHeld(new Scanner([{ detector: vault.detector(), action: 'mask' }]), PROSE)).toBe(0)
  for (const { name } of detectors)
    expect([name, mostHeld(only(name), PROSE) <= (may[name] ?? 6)]).toEqual([name, true])
})

test('a find holds no more than the longest one needs', () => {
  expect(mostHeld(only('email'), 'a'.repeat(500))).toBeLessThanOrEqual(65)
  expect(mostHeld(only('email'), '我'.repeat(500))).toBeLessThanOrEqual(4)
  expect(mostHeld(only('card'), '4'.repeat(500))).toBeLessThanOrEqual(48)
  expect(mostHeld(only('card'), `4${'\u200b'.repeat(500)}`)).toBeLessThanOrEqual(65)
  expect(mostHeld(only('card'), '\\'.repeat(500))).toBeLessThanOrEqual(8)
})

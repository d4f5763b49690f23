/**
 * The length of sounds: exact, counted, or bounded by their bytes; no false header makes it shorter than its bytes
 * allow.
 */
import { expect, test } from 'bun:test'
import { EXAMPLE_SOUND } from '../vendors/openai/transcription.ts'
import { bytesAt } from './sound-input.ts'
import { lengthMs, mostMs } from './sound-length.ts'

const addressOf = (bytes: Uint8Array, type = 'audio/mpeg') =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`

/** Frames of MPEG 1 layer III, 128 kbit/s, 44.1 kHz: 417 bytes and 1152 samples each. */
const mp3 = (frames: number) =>
  Buffer.concat(
    Array.from({ length: frames }, () =>
      Buffer.concat([Buffer.from([255, 251, 0x90, 0]), Buffer.alloc(413)]),
    ),
  )
const tagged = (frames: number) =>
  Buffer.concat([Buffer.from([73, 68, 51, 4, 0, 0, 0, 0, 1, 0]), Buffer.alloc(128), mp3(frames)])

test('WAV is exact', () => {
  expect(mostMs(EXAMPLE_SOUND)).toBe(200)
})

test('a WAV that claims to be shorter than its bytes is as long as they are', () => {
  const bytes = bytesAt(EXAMPLE_SOUND).bytes
  const lying = Uint8Array.from(bytes)
  lying.set([1, 0, 0, 0], 40)
  expect(mostMs(addressOf(lying))).toBe(200)
})

test.each([
  ['a rate that nobody plays', 24, [255, 255, 255, 127]],
  ['no channel', 22, [0, 0]],
  ['compressed sound', 20, [85, 0]],
])('a WAV with %s is bounded by its bytes', (_what, at, wrong) => {
  const bytes = Uint8Array.from(bytesAt(EXAMPLE_SOUND).bytes)
  bytes.set(wrong, at)
  expect(mostMs(addressOf(bytes))).toBe(Math.ceil((bytes.length * 8) / 6))
})

test('MP3 is counted, behind a tag too, and bounded at 64 kbit/s', () => {
  expect(lengthMs({ bytes: mp3(100) })).toBe(2_613)
  expect(lengthMs({ bytes: tagged(100) })).toBe(2_613)
  expect(mostMs(addressOf(mp3(100)))).toBe(Math.ceil(41_700 / 8))
})

test('an MP3 with much behind its frames is taken for something else', () => {
  const bytes = Buffer.concat([mp3(3), Buffer.alloc(10_000)])
  expect(lengthMs({ bytes })).toBeUndefined()
  expect(mostMs(addressOf(bytes))).toBe(Math.ceil((bytes.length * 8) / 6))
})

test('what nobody can read is bounded by its bytes', () => {
  expect(mostMs(addressOf(Buffer.from('OggS....'), 'audio/ogg'))).toBe(11)
})

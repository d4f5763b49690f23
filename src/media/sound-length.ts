/**
 * How long a sound is, and how long it can be at most. Exact for WAV with PCM; MP3 is counted frame by frame; for
 * everything else only the bytes tell. Sources: RFC 2361 and Microsoft's WAVE format; ISO/IEC 11172-3 and 13818-3 for
 * MPEG audio frames.
 */
import type { MediaBytes } from './shape.ts'
import { bytesAt } from './sound-input.ts'

/** Below these rates, in bits per second, we take a sound for damaged or false. */
const LEAST_RATE = 6_000
const LEAST_RATE_MP3 = 64_000

const msAt = (bytes: number, bitsPerSecond: number): number => Math.ceil((bytes * 8_000) / bitsPerSecond)

/** The most milliseconds that a sound at a data: address can last. */
export const mostMs = (address: string): number => {
  const sound = bytesAt(address)
  const { bytes } = sound
  const pcm = pcmMs(bytes)
  if (pcm !== undefined) return pcm
  const mp3 = mp3Ms(bytes)
  return mp3 === undefined
    ? msAt(bytes.length, LEAST_RATE)
    : Math.max(mp3, msAt(bytes.length, LEAST_RATE_MP3))
}

/** The length of a sound in whole milliseconds; undefined if its bytes do not tell. */
export const lengthMs = ({ bytes }: Pick<MediaBytes, 'bytes'>): number | undefined =>
  pcmMs(bytes) ?? mp3Ms(bytes)

const nameAt = (bytes: Uint8Array, at: number): string => String.fromCharCode(...bytes.subarray(at, at + 4))

/** Counts all bytes after the header, whatever length the header claims. */
const pcmMs = (bytes: Uint8Array): number | undefined => {
  if (bytes.length < 44 || nameAt(bytes, 0) !== 'RIFF' || nameAt(bytes, 8) !== 'WAVE') return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let bitsPerSecond: number | undefined
  for (let at = 12; at + 8 <= bytes.length; ) {
    const size = view.getUint32(at + 4, true)
    if (nameAt(bytes, at) === 'data')
      return bitsPerSecond === undefined ? undefined : msAt(bytes.length - at - 8, bitsPerSecond)
    if (nameAt(bytes, at) === 'fmt ' && at + 24 <= bytes.length) {
      const [format, channels] = [view.getUint16(at + 8, true), view.getUint16(at + 10, true)]
      const [perSecond, bits] = [view.getUint32(at + 12, true), view.getUint16(at + 22, true)]
      const sound = channels >= 1 && channels <= 8 && perSecond >= 8_000 && perSecond <= 192_000
      if (format !== 1 || !sound || ![8, 16, 24, 32].includes(bits)) return undefined
      bitsPerSecond = channels * perSecond * bits
    }
    at += 8 + size + (size % 2)
  }
  return undefined
}

const KBITS_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const KBITS_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const RATES = [44_100, 48_000, 32_000]

type Frame = { readonly bytes: number; readonly samples: number; readonly rate: number }

const frameAt = (bytes: Uint8Array, at: number): Frame | undefined => {
  const [first = 0, second = 0, third = 0] = bytes.subarray(at, at + 3)
  // Frame sync, layer III.
  if (first !== 0xff || (second & 0xe6) !== 0xe2) return undefined
  const version = (second >> 3) & 3
  const kbits = (version === 3 ? KBITS_1 : KBITS_2)[third >> 4]
  const full = RATES[(third >> 2) & 3]
  if (version === 1 || kbits === undefined || kbits === 0 || full === undefined) return undefined
  const rate = version === 3 ? full : version === 2 ? full / 2 : full / 4
  const samples = version === 3 ? 1152 : 576
  return { bytes: Math.floor((samples * 125 * kbits) / rate) + ((third >> 1) & 1), samples, rate }
}

const ID3_HEAD = 10
/** What may follow the last frame: tags of players. */
const TAIL_MAX = 4_096

/** Undefined unless frames fill the whole file, except for one tag before and one after. */
const mp3Ms = (bytes: Uint8Array): number | undefined => {
  let at = 0
  if (nameAt(bytes, 0).startsWith('ID3'))
    at = bytes.subarray(6, ID3_HEAD).reduce((size, one) => size * 128 + (one & 127), 0) + ID3_HEAD
  let seconds = 0
  let frames = 0
  for (let frame = frameAt(bytes, at); frame !== undefined; frame = frameAt(bytes, at)) {
    seconds += frame.samples / frame.rate
    at += frame.bytes
    frames++
  }
  return frames < 2 || bytes.length - at > TAIL_MAX ? undefined : Math.ceil(seconds * 1000)
}

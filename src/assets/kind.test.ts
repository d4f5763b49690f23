/**
 * The type of bytes is read from the bytes: images, sounds and films by their beginning; anything else is a download.
 */
import { expect, test } from 'bun:test'
import { deflateSync } from 'node:zlib'
import { fileTypeFromBuffer } from 'file-type'
import { dispositionOf, type Family, kindOf, usualKind } from './kind.ts'

const bytes = (...parts: (string | number[])[]): Uint8Array =>
  Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))),
  )

const u32 = (value: number) => [value >>> 24, (value >>> 16) & 255, (value >>> 8) & 255, value & 255]

/** A PNG of the given size that contains almost nothing. */
const png = (width: number, height: number): Uint8Array => {
  const chunk = (type: string, data: Uint8Array) => {
    const body = bytes(type, [...data])
    return bytes(u32(data.length), [...body], u32(Bun.hash.crc32(body)))
  }
  return Buffer.concat([
    bytes('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', bytes(u32(width), u32(height), [8, 0, 0, 0, 0])),
    chunk('IDAT', deflateSync(new Uint8Array(width + 1))),
    chunk('IEND', new Uint8Array()),
  ])
}
const box = (type: string, ...content: Uint8Array[]): Uint8Array => {
  const inside = Buffer.concat(content)
  return Buffer.concat([bytes(u32(inside.length + 8), type), inside])
}
const jpeg = bytes(
  [0xff, 0xd8, 0xff, 0xe0, 0, 16],
  'JFIF\0',
  [1, 1, 0, 0, 1, 0, 1, 0, 0, 0xff, 0xc0, 0, 17, 8, 0, 7, 0, 9, 3],
  [1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xff, 0xd9],
)
const gif = bytes('GIF89a', [5, 0, 6, 0, 0, 0, 0, 0x3b])
const webp = bytes('RIFF', [30, 0, 0, 0], 'WEBPVP8X', [10, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 49, 0, 0])
const wav = bytes('RIFF', [36, 0, 0, 0], 'WAVEfmt ', [16, 0, 0, 0])
const avif = Buffer.concat([
  box('ftyp', bytes('avif', u32(0), 'avifmif1')),
  box('meta', bytes(u32(0)), box('iprp', box('ipco', box('ispe', bytes(u32(0), u32(64), u32(32)))))),
])
const mp4 = box('ftyp', bytes('isom', u32(512), 'isomiso2mp41'))
const m4a = box('ftyp', bytes('M4A ', u32(0), 'M4A mp42'))
const ebml = (type: string) =>
  bytes([0x1a, 0x45, 0xdf, 0xa3, 0x80 + 3 + type.length, 0x42, 0x82, 0x80 + type.length], type)
const mp3 = bytes('ID3', [3, 0, 0, 0, 0, 0, 0], [0xff, 0xfb, 0x90, 0x64])
const flac = bytes('fLaC', u32(34))
const ogg = bytes(
  'OggS',
  [0, 2],
  new Array<number>(20).fill(0),
  [1, 30],
  '\x01vorbis',
  new Array<number>(30).fill(0),
)

const shown: [string, Uint8Array, Family, string, string, [number, number]?][] = [
  ['a PNG', png(30, 20), 'image', 'image/png', 'png', [30, 20]],
  ['a JPEG', jpeg, 'image', 'image/jpeg', 'jpg', [9, 7]],
  ['a GIF', gif, 'image', 'image/gif', 'gif', [5, 6]],
  ['a WebP', webp, 'image', 'image/webp', 'webp', [100, 50]],
  ['an AVIF', avif, 'image', 'image/avif', 'avif', [64, 32]],
  ['an MP4', mp4, 'video', 'video/mp4', 'mp4'],
  ['a WebM', ebml('webm'), 'video', 'video/webm', 'webm'],
  ['an MP3', mp3, 'audio', 'audio/mpeg', 'mp3'],
  ['a WAV', wav, 'audio', 'audio/wav', 'wav'],
  ['an Ogg', ogg, 'audio', 'audio/ogg', 'ogg'],
  ['a FLAC', flac, 'audio', 'audio/flac', 'flac'],
  ['an M4A', m4a, 'audio', 'audio/mp4', 'm4a'],
  ['sound in an MP4', mp4, 'audio', 'audio/mp4', 'm4a'],
  ['sound in a WebM', ebml('webm'), 'audio', 'audio/webm', 'webm'],
]

test.each(shown)('%s is known and shown', async (_what, head, family, mediaType, extension, size) => {
  const measured = size === undefined ? {} : { width: size[0], height: size[1] }
  expect(await kindOf(head, family)).toEqual({ mediaType, extension, ...measured })
  expect(dispositionOf(mediaType, 'a.b')).toBe('inline')
})

const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
const html = '<!doctype html><script>alert(1)</script>'

test.each<[string, Uint8Array, string, string]>([
  ['SVG', bytes(svg), 'image/svg+xml', 'svg'],
  ['SVG behind a declaration', bytes(`<?xml version="1.0"?>\n<!-- a -->\n${svg}`), 'image/svg+xml', 'svg'],
  ['HTML', bytes(html), 'application/octet-stream', 'bin'],
  ['JSON', bytes('{"a":1}'), 'application/octet-stream', 'bin'],
  ['a PDF', bytes('%PDF-1.7\n'), 'application/pdf', 'pdf'],
  ['a PDF that is a ZIP too', bytes('%PDF-1.7\n', 'PK\x03\x04'), 'application/pdf', 'pdf'],
  ['a program', bytes('MZ', new Array<number>(100).fill(0)), 'application/x-msdownload', 'exe'],
  ['nothing known', bytes([0, 1, 2, 3]), 'application/octet-stream', 'bin'],
])('%s is a download', async (_what, head, mediaType, extension) => {
  expect(await kindOf(head, 'file')).toEqual({ mediaType, extension })
  expect(dispositionOf(mediaType, 'a.b')).toBe('attachment; filename="a.b"')
})

test('a GIF that is a script too is a picture and nothing else', async () => {
  const both = bytes('GIF89a', [47, 42, 1, 0], '\0\0\0*/=1;alert(1)//')
  expect(await kindOf(both, 'image')).toMatchObject({ mediaType: 'image/gif' })
})

test.each<[string, Uint8Array, Family]>([
  ['HTML as a picture', bytes(html), 'image'],
  ['a PDF as a picture', bytes('%PDF-1.7\n'), 'image'],
  ['a picture as a sound', png(1, 1), 'audio'],
  ['a sound as a film', wav, 'video'],
  ['a film as a picture', mp4, 'image'],
  ['a Matroska film as a sound', ebml('matroska'), 'audio'],
  ['text as a sound', bytes('hello'), 'audio'],
  ['nothing as a film', new Uint8Array(), 'video'],
])('%s is refused', async (_what, head, family) => {
  expect(await kindOf(head, family)).toBeUndefined()
})

/** An animated PNG. */
const moving = Buffer.concat([
  png(3, 2).subarray(0, 33),
  bytes(u32(8), 'acTL', u32(2), u32(0), u32(0)),
  png(3, 2).subarray(33),
])

test.each<[string, Uint8Array]>([
  ...shown.map(([what, head]): [string, Uint8Array] => [what, head]),
  ['a PNG that moves', moving],
  [
    'a PNG whose chunk has no end',
    Buffer.concat([png(3, 2).subarray(0, 33), bytes([255, 255, 255, 255], 'tEXt')]),
  ],
  ['a JPEG LS', bytes([0xff, 0xd8, 0xff, 0xf7, 0, 16])],
  ['a RIFF of another kind', bytes('RIFF', [36, 0, 0, 0], 'AVI ', new Array<number>(20).fill(0))],
])('%s, wherever it is cut, is told as the library tells it, or left to it', async (_what, head) => {
  for (let cut = 0; cut <= Math.min(head.length, 80); cut++) {
    const start = head.subarray(0, cut)
    const usual = usualKind(start)
    const found = usual && (await fileTypeFromBuffer(start).catch(() => undefined))
    expect(usual?.extension).toBe(found?.ext)
  }
  expect(await kindOf(moving, 'image')).toMatchObject({ mediaType: 'image/apng' })
})

test('a header that lies or is cut costs nothing and gives no size', async () => {
  for (let cut = 8; cut < avif.length; cut++) {
    const kind = await kindOf(avif.subarray(0, cut), 'image')
    expect(kind === undefined || kind.mediaType === 'image/avif').toBe(true)
  }
  // Boxes of length zero, and longer than the file.
  for (const length of [0, 1, 7, 0xffffffff]) {
    const lying = Buffer.from(avif)
    lying.writeUInt32BE(length, 24)
    expect(await kindOf(lying, 'image')).toMatchObject({ mediaType: 'image/avif' })
  }
})

test('a comment without end is not looked at for long', async () => {
  const head = bytes(`<!--${' '.repeat(200)}`.repeat(1_300))
  const started = process.cpuUsage().user
  expect((await kindOf(head, 'file'))?.extension).toBe('bin')
  expect(process.cpuUsage().user - started).toBeLessThan(1_000_000)
})

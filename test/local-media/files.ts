/** Files for the built-in products to work on, made here byte by byte. */
import { crc32, deflateSync } from 'node:zlib'
import {
  BufferTarget,
  EncodedPacket,
  EncodedVideoPacketSource,
  Mp4OutputFormat,
  Output,
  type OutputFormat,
  WebMOutputFormat,
} from 'mediabunny'

const chunk = (type: string, data: Uint8Array): Uint8Array => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const ends = Buffer.alloc(8)
  ends.writeUInt32BE(data.length, 0)
  ends.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)])
}

/** A white picture of one bit a pixel: few bytes for many pixels. */
export const blankPng = (width: number, height: number): Uint8Array => {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([1, 0, 0, 0, 0], 8)
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 9 })
  return Buffer.concat([
    Uint8Array.from([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10]),
    chunk('IHDR', head),
    chunk('IDAT', rows),
    chunk('IEND', new Uint8Array()),
  ])
}

/** A sine of this many seconds at 16 kHz; `claims` is the length that the header gives. */
export const wav = (seconds: number, claims = seconds): Uint8Array => {
  const rate = 16_000
  const samples = seconds * rate
  const file = Buffer.alloc(44 + samples * 2)
  file.write('RIFF....WAVEfmt ', 0, 'latin1')
  file.writeUInt32LE(36 + claims * rate * 2, 4)
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(rate, 24)
  file.writeUInt32LE(rate * 2, 28)
  file.writeUInt16LE(2, 32)
  file.writeUInt16LE(16, 34)
  file.write('data', 36, 'latin1')
  file.writeUInt32LE(claims * rate * 2, 40)
  for (let at = 0; at < samples; at++) file.writeInt16LE(Math.round(8_000 * Math.sin(at / 8)), 44 + 2 * at)
  return file
}

/** A film of ten pictures a second; each second begins with a key frame. */
const film = async (format: OutputFormat, seconds: number): Promise<Uint8Array> => {
  const target = new BufferTarget()
  const output = new Output({ format, target })
  const source = new EncodedVideoPacketSource('vp8')
  output.addVideoTrack(source)
  await output.start()
  for (let at = 0; at < seconds * 10; at++)
    await source.add(
      new EncodedPacket(new Uint8Array(200).fill(at), at % 10 === 0 ? 'key' : 'delta', at / 10, 0.1),
      { decoderConfig: { codec: 'vp8', codedWidth: 320, codedHeight: 180 } },
    )
  await output.finalize()
  return new Uint8Array(target.buffer ?? new ArrayBuffer())
}

export const webm = (seconds: number): Promise<Uint8Array> => film(new WebMOutputFormat(), seconds)

/** A film in fragments whose first one claims 2^32 pictures, and gives nothing for each. */
export const endlessMp4 = async (): Promise<Uint8Array> => {
  const bytes = Buffer.from(await film(new Mp4OutputFormat({ fastStart: 'fragmented' }), 1))
  const at = bytes.indexOf('trun')
  // The flags keep only the offset of the data (ISO/IEC 14496-12, 8.8.8).
  bytes.writeUInt32BE(1, at + 4)
  bytes.writeUInt32BE(0xffff_ffff, at + 8)
  return bytes
}

/** A PDF with a page for each content, which is the raw stream behind its dictionary. */
export const pdfOf = (
  contents: readonly { readonly filter: string; readonly bytes: Uint8Array }[],
): Uint8Array => {
  const kids = contents.map((_, at) => `${4 + 2 * at} 0 R`).join(' ')
  const objects: (string | Uint8Array)[][] = [
    ['<</Type/Catalog/Pages 2 0 R>>'],
    [`<</Type/Pages/Count ${contents.length}/Kids[${kids}]>>`],
    ['<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'],
    ...contents.flatMap(({ filter, bytes }, at) => [
      [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${5 + 2 * at} 0 R/Resources<</Font<</F 3 0 R>>>>>>`,
      ],
      [`<</Length ${bytes.length}${filter}>>\nstream\n`, bytes, '\nendstream'],
    ]),
  ]
  const pieces: Buffer[] = [Buffer.from('%PDF-1.4\n')]
  const places: number[] = []
  const length = () => pieces.reduce((sum, piece) => sum + piece.length, 0)
  for (const [index, parts] of objects.entries()) {
    places.push(length())
    pieces.push(
      Buffer.from(`${index + 1} 0 obj\n`),
      ...parts.map((part) => Buffer.from(part)),
      Buffer.from('\nendobj\n'),
    )
  }
  const start = length()
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('')
  pieces.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<</Size ${objects.length + 1}/Root 1 0 R>>\nstartxref\n${start}\n%%EOF\n`,
    ),
  )
  return Buffer.concat(pieces)
}

export const pdfPage = (text: string) => ({
  filter: '',
  bytes: Buffer.from(`BT /F 24 Tf 72 700 Td (${text}) Tj ET`),
})

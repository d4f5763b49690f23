/** Writes PNG files. Source: W3C Portable Network Graphics (third edition), sections 5, 9 and 11. */
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const GREY = 0
const RGB = 2
/** With the second kind of filter, each byte is its difference to the one above. */
const UP = 2

const chunk = (type: string, data: Uint8Array): Uint8Array => {
  const made = Buffer.alloc(data.length + 12)
  made.writeUInt32BE(data.length, 0)
  made.write(type, 4, 'latin1')
  made.set(data, 8)
  made.writeUInt32BE(crc32(made.subarray(4, data.length + 8)), data.length + 8)
  return made
}

/** Each row with its filter byte first. Differences to the row above are small in smooth images. */
const filtered = (pixels: Uint8Array, row: number, height: number): Uint8Array => {
  const rows = new Uint8Array((row + 1) * height)
  for (let y = 0; y < height; y++) {
    const at = y * (row + 1)
    rows[at] = UP
    for (let x = 0; x < row; x++) {
      const above = y === 0 ? 0 : (pixels[(y - 1) * row + x] ?? 0)
      rows[at + 1 + x] = (pixels[y * row + x] ?? 0) - above
    }
  }
  return rows
}

/** A PNG of 8 bits a channel: `pixels` are rows of grey or of red, green and blue, one or three bytes a pixel. */
export const writePng = (width: number, height: number, pixels: Uint8Array): Uint8Array => {
  const channels = pixels.length / (width * height)
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, channels === 1 ? GREY : RGB, 0, 0, 0], 8)
  return Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(filtered(pixels, width * channels, height), { level: 6 })),
    chunk('IEND', new Uint8Array()),
  ])
}

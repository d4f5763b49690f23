/** The type and size of an image from its header. Sources: W3C PNG 11.2.1; ITU-T T.81, B.2.2; RFC 9649; GIF89a. */

type PictureHead = {
  readonly type: 'png' | 'jpeg' | 'webp' | 'gif'
  /** Absent if only a decoder can tell. */
  readonly pixels?: number
}

/** The start of a frame: all of C0 to CF except the tables C4, C8 and CC. */
const isFrame = (marker: number): boolean => (marker & 0xf0) === 0xc0 && ![0xc4, 0xc8, 0xcc].includes(marker)

const jpegPixels = (view: DataView): number | undefined => {
  let at = 2
  while (at + 9 <= view.byteLength && view.getUint8(at) === 0xff) {
    const marker = view.getUint8(at + 1)
    if (marker === 0xff) {
      at++
      continue
    }
    if (isFrame(marker)) return view.getUint16(at + 5) * view.getUint16(at + 7)
    at += 2 + view.getUint16(at + 2)
  }
  return undefined
}

/** Undefined if it is none of the four types. */
export const pictureHead = (bytes: Uint8Array): PictureHead | undefined => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (view.byteLength < 24) return undefined
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (start.startsWith('\x89PNG\r\n\x1a\n'))
    return { type: 'png', pixels: view.getUint32(16) * view.getUint32(20) }
  if (start.startsWith('\xff\xd8\xff')) {
    const pixels = jpegPixels(view)
    return pixels === undefined ? undefined : { type: 'jpeg', pixels }
  }
  if (start.startsWith('GIF8')) return { type: 'gif' }
  return start.startsWith('RIFF') && start.endsWith('WEBP') ? { type: 'webp' } : undefined
}

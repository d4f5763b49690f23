/**
 * The common kinds of results, with the same answers as `file-type`: the library's stream of tokens would cost more
 * than everything else about a small result. Undefined for all other kinds, which the library identifies.
 */
/** A type and its usual extension. */
type Usual = { readonly mediaType: string; readonly extension: string }

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
const JPEG = [0xff, 0xd8, 0xff]
/** The fourth byte of another format that begins in the same way. */
const JPEG_LS = 0xf7

export const usualKind = (head: Uint8Array): Usual | undefined => {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength)
  if (startsWith(head, PNG)) return isStill(view) ? { mediaType: 'image/png', extension: 'png' } : undefined
  if (startsWith(head, JPEG) && head[3] !== JPEG_LS) return { mediaType: 'image/jpeg', extension: 'jpg' }
  if (head.length < 12 || view.getUint32(0) !== RIFF) return undefined
  switch (view.getUint32(8)) {
    case WEBP:
      return { mediaType: 'image/webp', extension: 'webp' }
    case WAVE:
      return { mediaType: 'audio/wav', extension: 'wav' }
    default:
      return undefined
  }
}

const startsWith = (head: Uint8Array, bytes: readonly number[]): boolean =>
  bytes.every((byte, at) => head[at] === byte)

const tag = (letters: string): number => Buffer.from(letters, 'latin1').readUInt32BE()
const [RIFF, WEBP, WAVE] = [tag('RIFF'), tag('WEBP'), tag('WAVE')]
const [IDAT, ACTL] = [tag('IDAT'), tag('acTL')]
/** Length, type and checksum of a chunk. */
const CHUNK_BYTES = 12

/** Whether the image data begin before any sign of animation; also false when neither shows. */
const isStill = (view: DataView): boolean => {
  for (let at = 8; at + 8 <= view.byteLength; at += CHUNK_BYTES + view.getUint32(at)) {
    const type = view.getUint32(at + 4)
    if (type === IDAT) return true
    if (type === ACTL) return false
  }
  return false
}

/** The type of bytes: by how they begin, never by what a vendor or caller calls them. */
import { imageSize } from 'image-size'

/** What a record says that a product delivers. */
export type Family = 'image' | 'video' | 'audio' | 'file'

export type Kind = {
  readonly mediaType: string
  readonly extension: string
  readonly width?: number
  readonly height?: number
}

/**
 * How much of the beginning we read: a type shows at once; the size of an image comes after what cameras write first.
 */
export const HEAD_BYTES = 256 * 1024
/** What the library needs; more would only let it unpack more of a hostile archive. */
const TYPE_BYTES = 4_100

/** Types that a page may show; any other type is a download in every case. */
const SHOWN: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
  'video/mp4',
  'video/webm',
  'audio/mpeg',
  'audio/wav',
  'audio/ogg',
  'audio/flac',
  'audio/mp4',
  'audio/webm',
])

/** Images whose header we read for their size. */
const MEASURED: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/webp',
  'image/gif',
  'image/avif',
])

/** Other names of the same types. */
const USUAL: Readonly<Record<string, string>> = {
  'audio/x-m4a': 'audio/mp4',
  'audio/vnd.wave': 'audio/wav',
  'audio/x-flac': 'audio/flac',
  'audio/ogg; codecs=opus': 'audio/ogg',
}

/** Sound alone in a film container. */
const AS_SOUND: Readonly<Record<string, Kind>> = {
  'video/mp4': { mediaType: 'audio/mp4', extension: 'm4a' },
  'video/webm': { mediaType: 'audio/webm', extension: 'webm' },
  'video/ogg': { mediaType: 'audio/ogg', extension: 'ogg' },
}

const BYTES: Kind = { mediaType: 'application/octet-stream', extension: 'bin' }
const TEXT: Kind = { mediaType: 'text/plain', extension: 'txt' }

/** Text begins in no way of its own, so what its caller calls text is text, unless its bytes show another type. */
export const textOr = ({ mediaType }: Pick<Kind, 'mediaType'>): Kind | undefined =>
  mediaType === BYTES.mediaType ? TEXT : undefined

/** White space, a declaration, comments, and then the element: one pass over at most the first bytes. */
const SVG =
  /^\uFEFF?\s{0,99}(?:<\?xml[^>]{0,200}\?>\s{0,99})?(?:<!--(?:(?!-->)[\s\S]){0,2000}-->\s{0,99}){0,9}(?:<!DOCTYPE svg[^>]{0,300}>\s{0,99})?<svg[\s>]/

/** How a browser should treat bytes of the type. */
export const dispositionOf = (mediaType: string, name: string): string =>
  SHOWN.has(mediaType) ? 'inline' : `attachment; filename="${name}"`

/** The kind of bytes by their beginning; undefined when they are not of the family. */
export const kindOf = async (head: Uint8Array, family: Family): Promise<Kind | undefined> => {
  const kind = await typeOf(head.subarray(0, TYPE_BYTES))
  if (family === 'file') return kind
  const sound = AS_SOUND[kind.mediaType]
  if (family === 'audio' && sound !== undefined) return sound
  if (!kind.mediaType.startsWith(`${family}/`)) return undefined
  return family === 'image' ? { ...kind, ...sizeOf(head, kind.mediaType) } : kind
}

const typeOf = async (head: Uint8Array): Promise<Kind> => {
  const usual = usualKind(head)
  if (usual !== undefined) return usual
  // Loaded on first use: commands and most servers never need it.
  const { fileTypeFromBuffer } = await import('file-type')
  const found = await fileTypeFromBuffer(head).catch(() => undefined)
  if (found !== undefined && found.mime !== 'application/xml')
    return { mediaType: USUAL[found.mime] ?? found.mime, extension: found.ext }
  return SVG.test(new TextDecoder().decode(head)) ? { mediaType: 'image/svg+xml', extension: 'svg' } : BYTES
}

/** From the header alone: no image is ever decoded here. */
const sizeOf = (head: Uint8Array, mediaType: string): { width: number; height: number } | undefined => {
  if (!MEASURED.has(mediaType)) return undefined
  try {
    const { width, height } = imageSize(head)
    return { width, height }
  } catch {
    return undefined
  }
}

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

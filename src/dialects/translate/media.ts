/** Converts media to and from `data:` addresses. Source of the format: RFC 2397. */
import type { Media } from '../neutral.ts'

/** Media from an address; inline if it is a base64 `data:` address. */
export const mediaAt = (url: string): Media => {
  const match = /^data:([^;,]*)(?:;[^,]*)?;base64,/.exec(url.slice(0, 200))
  return match === null
    ? { url }
    : { mediaType: typeNamed(match[1] || 'application/octet-stream'), data: url.slice(match[0].length) }
}

const otherNames: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg', 'image/x-png': 'image/png' }

/** A media type by its registered name: clients send other names, which vendors refuse. */
export const typeNamed = (type: string): string => otherNames[type.toLowerCase()] ?? type

/** The address of media: its own, or a `data:` address. */
export const addressOf = (media: Media): string =>
  'url' in media ? media.url : `data:${media.mediaType};base64,${media.data}`

const byExtension: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  pdf: 'application/pdf',
  txt: 'text/plain',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
  mov: 'video/quicktime',
  webm: 'video/webm',
}

/** The media type, as given or by the extension of the address. */
export const mediaTypeOf = (media: Media, otherwise: string): string => {
  if (media.mediaType !== undefined) return media.mediaType
  const extension = 'url' in media ? /\.([a-z0-9]{2,4})(?:[?#]|$)/i.exec(media.url)?.[1] : undefined
  return byExtension[extension?.toLowerCase() ?? ''] ?? otherwise
}

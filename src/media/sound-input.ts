/** Sounds that callers send: as base64 data: addresses. */
import { z } from 'zod'
import type { MediaBytes } from './shape.ts'

/** A sound or film, inline. */
export const soundInput = z
  .string()
  .regex(/^data:(?:audio|video)\/[a-z0-9.+-]{1,60}(?:;[a-z0-9=._-]{1,60}){0,3};base64,[A-Za-z0-9+/]/i, {
    message:
      'must be a sound or film: a base64 data: address, a public https address, or the id of a file (file-…)',
  })
  .meta({ 'x-media': 'audio/*, video/*' })

/** The bytes of a checked data: address, and their type in lower case without parameters. */
export const bytesAt = (address: string): MediaBytes => {
  const comma = address.indexOf(',')
  const mediaType = address.slice('data:'.length, comma).split(';')[0] ?? ''
  return {
    bytes: Uint8Array.from(Buffer.from(address.slice(comma + 1), 'base64')),
    mediaType: mediaType.toLowerCase(),
  }
}

const extensions: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/mp4': 'm4a',
  'audio/m4a': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/wav': 'wav',
  'audio/wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/webm': 'webm',
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'video/mp4': 'mp4',
  'video/mpeg': 'mpeg',
  'video/webm': 'webm',
}

/** A file name for a form: some vendors read the container from its extension. */
export const fileNameFor = (mediaType: string): string => `audio.${extensions[mediaType] ?? 'mp3'}`

/** The type of a sound by its file name's extension, for forms that do not give the type. */
export const typeOfName = (name: string): string | undefined => {
  const ending = name.slice(name.lastIndexOf('.') + 1).toLowerCase()
  const usual: Readonly<Record<string, string>> = { mpga: 'audio/mpeg', oga: 'audio/ogg', opus: 'audio/ogg' }
  return usual[ending] ?? Object.entries(extensions).find(([, one]) => one === ending)?.[0]
}

const heads: readonly (readonly [at: number, head: string, mediaType: string])[] = [
  [0, 'ID3', 'audio/mpeg'],
  [8, 'WAVE', 'audio/wav'],
  [0, 'OggS', 'audio/ogg'],
  [0, 'fLaC', 'audio/flac'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\u001aE\u00df\u00a3', 'video/webm'],
  [0, '\u00ff\u00fb', 'audio/mpeg'],
]

/** The type of a sound by its first bytes. */
export const typeOfBytes = (bytes: Uint8Array): string | undefined => {
  const text = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  return heads.find(([at, head]) => text.startsWith(head, at))?.[2]
}

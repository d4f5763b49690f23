/** Images that callers send inline, for vendors that want their bytes. */
import { z } from 'zod'
import type { MediaBytes } from './shape.ts'

/** Letters of one image's address: ten megabytes in base64. */
export const LETTERS_MAX = 14_000_000

/** A `data:` address of an image. */
export const PICTURE_ADDRESS = /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/

/** An input that takes an image as a `data:` address. */
export const inlinePicture = z
  .string()
  .max(LETTERS_MAX)
  .regex(PICTURE_ADDRESS, {
    message:
      'must be a PNG, JPEG or WebP picture: a base64 data: address, a public https address, or the id of a file (file-…)',
  })
  .meta({ 'x-media': 'image/*' })

/** The type of an image by its first bytes. */
export const pictureTypeOf = (bytes: Uint8Array): string | undefined => {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1')
  if (head.startsWith('\u0089PNG')) return 'image/png'
  if (head.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg'
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined
}

/** The bytes of an input that `inlinePicture` has checked. */
export const pictureBytes = (address: string): MediaBytes => {
  const comma = address.indexOf(',')
  return {
    bytes: new Uint8Array(Buffer.from(address.slice(comma + 1), 'base64')),
    mediaType: address.slice('data:'.length, address.indexOf(';')),
  }
}

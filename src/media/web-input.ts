/** Addresses of images, films and sounds that callers name and vendors fetch: public https addresses only. */
import { z } from 'zod'
import { publicHttpsUrl } from '../core/address.ts'
import { LETTERS_MAX, PICTURE_ADDRESS } from './inline-picture.ts'

const isPublicAddress = (address: string): boolean => typeof publicHttpsUrl('url', address) === 'string'

const message = 'must be an https address of a public server'

/** An input that a vendor fetches, of a kind such as `video/*`. */
export const webAddress = (kind: string) =>
  z
    .string()
    .max(2_048)
    .regex(/^https:\/\//, { message })
    .refine(isPublicAddress, { message })
    .meta({ 'x-media': kind })

/** An image, inline or at an address that the vendor fetches. */
export const pictureInput = z
  .string()
  .max(LETTERS_MAX)
  .regex(/^(?:https:\/\/|data:image\/)/, {
    message: 'must be a public https address, or a PNG, JPEG or WebP picture as a data: address in base64',
  })
  .refine((text) => (text.startsWith('data:') ? PICTURE_ADDRESS.test(text) : isPublicAddress(text)), {
    message: 'must be a public https address, or a PNG, JPEG or WebP picture as a data: address in base64',
  })
  .meta({ 'x-media': 'image/*' })

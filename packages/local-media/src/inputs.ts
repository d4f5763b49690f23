/** Inputs that several built-in products share. Their patterns are also in the JSON Schema that agents read. */
import { z } from 'zod'

/** The longest inline bytes and addresses, in letters; the size of bodies bounds callers before this. */
const LETTERS_MAX = 90_000_000

/** Bytes that a product works on, inline or at an address: base64 `data:`, or https. */
const source = (types: string, media: string, what: string) =>
  z
    .string()
    .max(LETTERS_MAX)
    .regex(new RegExp(`^(?:https://|data:(?:${types})[^,]{0,100};base64,)`), {
      message: `must be ${what}: a public https address, a base64 data: address, or the id of a file (file-…)`,
    })
    .meta({ 'x-media': media })

export const picture = source('image/(?:png|jpe?g|webp|gif)', 'image/*', 'a picture')

export const recording = source('(?:audio|video)/[a-z0-9.+-]+', 'audio/*, video/*', 'a sound or film')

export const pdf = source('application/pdf', 'application/pdf', 'a PDF')

/** `<width>x<height>`, each of 64 to 1024 pixels. */
const SIDE = '(?:6[4-9]|[7-9][0-9]|[1-9][0-9]{2}|10[01][0-9]|102[0-4])'

export const size = z
  .string()
  .regex(new RegExp(`^${SIDE}x${SIDE}$`), { message: 'must be <width>x<height>, each 64 to 1024' })

/** Width and height of a checked size. */
export const sidesOf = (text: string): { readonly width: number; readonly height: number } => {
  const [width = 0, height = 0] = text.split('x').map(Number)
  return { width, height }
}

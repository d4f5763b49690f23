/** Scales images and converts their type, with sharp (libvips). */
import type { FitEnum } from 'sharp'
import type { Make } from '../../../src/vendors/local/product.ts'
import { pictureHead } from './picture-size.ts'
import { WrongInput } from './wrong-input.ts'

const PIXELS_MAX = 50_000_000
const SIDE_MAX = 4_096

type Format = 'png' | 'jpeg' | 'webp' | 'avif'

/** An image of the requested size; if one side or none is given, the whole image within 4096 pixels a side. */
export const makeImage: Make = async ({ width, height, fit, format }, bytes) => {
  // Only data that begins like a pixel image: libvips would also draw SVG and read formats that few people need.
  if (pictureHead(bytes) === undefined)
    throw new WrongInput('image', "'image' is no PNG, JPEG, WebP or GIF picture")
  const { default: sharp } = await import('sharp')
  const both = width !== undefined && height !== undefined
  const neither = width === undefined && height === undefined
  const resized = sharp(bytes, { limitInputPixels: PIXELS_MAX, failOn: 'error' })
    .rotate()
    .resize({
      width: Number(width ?? SIDE_MAX),
      height: Number(height ?? SIDE_MAX),
      fit: both ? (fit as keyof FitEnum) : 'inside',
      withoutEnlargement: neither,
    })
    .toFormat(format as Format)
  const { data, info } = await resized.toBuffer({ resolveWithObject: true }).catch(() => {
    throw new WrongInput('image', `'image' cannot be read, or has more than ${PIXELS_MAX} pixels`)
  })
  const image = { b64_json: data.toString('base64'), width: info.width, height: info.height }
  return { json: { images: [image] } }
}

/** An image's size as callers give it, written into the inputs that a product has for it. */

import type { JsonObject } from '../core/json-body.ts'
import { invalid, type Refusal } from '../core/refusal.ts'

const SIZE = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/

/** `names` are the product's inputs: `size` itself, `width` and `height`, alone or in `image_size`, or a ratio. */
export const sizeInputs = (size: string, names: readonly string[]): JsonObject | Refusal => {
  if (names.includes('size')) return { size }
  const [, width = '', height = ''] = SIZE.exec(size) ?? []
  if (width === '') return invalid('size', "'size' must be written <width>x<height>, such as 1024x1024.")
  if (names.includes('width') && names.includes('height'))
    return { width: Number(width), height: Number(height) }
  if (names.includes('aspect_ratio')) return { aspect_ratio: ratioOf(Number(width), Number(height)) }
  if (names.includes('image_size')) return { image_size: { width: Number(width), height: Number(height) } }
  if (names.includes('ratio')) return { ratio: `${width}:${height}` }
  return invalid('size', "This model makes pictures of one size only; leave out 'size'.")
}

/** How a size is as a ratio in lowest terms, such as 16:9. */
export const ratioOf = (width: number, height: number): string => {
  let [a, b] = [width, height]
  while (b > 0) [a, b] = [b, a % b]
  return `${width / a}:${height / a}`
}

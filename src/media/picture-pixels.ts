/** How many pixels an inline image has, according to its header. */
import { imageSize } from 'image-size'
import { pictureBytes } from './inline-picture.ts'

/** Undefined if the header cannot be read. */
export const picturePixels = (address: string): number | undefined => {
  try {
    const { width, height } = imageSize(pictureBytes(address).bytes)
    return width > 0 && height > 0 ? width * height : undefined
  } catch {
    return undefined
  }
}

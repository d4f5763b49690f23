/** How many pixels an inline picture has, as its head tells. */
import { imageSize } from 'image-size'
import { pictureBytes } from './inline-picture.ts'

/** Undefined where the head cannot be read. */
export const picturePixels = (address: string): number | undefined => {
  try {
    const { width, height } = imageSize(pictureBytes(address).bytes)
    return width > 0 && height > 0 ? width * height : undefined
  } catch {
    return undefined
  }
}

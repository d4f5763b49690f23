/** QR codes as images, by qrcode-generator. */
import makeCode from 'qrcode-generator'
import type { Make } from '../../../src/vendors/local/product.ts'
import { writePng } from './png.ts'
import { WrongInput } from './wrong-input.ts'

type Level = Parameters<typeof makeCode>[1]

const codeOf = (text: string, level: Level) => {
  // The smallest version that fits the text.
  const code = makeCode(0, level)
  // One character per byte, because the package takes the low byte of each.
  code.addData(Buffer.from(text, 'utf8').toString('latin1'), 'Byte')
  try {
    code.make()
  } catch {
    throw new WrongInput('text', "'text' is too long for a QR code with this error_correction")
  }
  return code
}

/** An image of a text's code: black on white, with a margin. */
export const makeQr: Make = async (inputs) => {
  const [scale, margin] = [Number(inputs.scale), Number(inputs.margin)]
  const code = codeOf(String(inputs.text), inputs.error_correction as Level)
  const modules = code.getModuleCount()
  const side = (modules + 2 * margin) * scale
  const pixels = new Uint8Array(side * side).fill(255)
  for (let row = 0; row < modules; row++)
    for (let column = 0; column < modules; column++) {
      if (!code.isDark(row, column)) continue
      const left = (column + margin) * scale
      for (let y = (row + margin) * scale; y < (row + margin + 1) * scale; y++)
        pixels.fill(0, y * side + left, y * side + left + scale)
    }
  const b64_json = Buffer.from(writePng(side, side, pixels)).toString('base64')
  return { json: { images: [{ b64_json, width: side, height: side }] } }
}

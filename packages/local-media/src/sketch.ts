/** Draws a pattern from a seed: waves in two colours under a few soft discs. The same seed gives the same bytes. */
import { createHash } from 'node:crypto'
import type { Facts, Make } from '../../../src/vendors/local/product.ts'
import { sidesOf } from './inputs.ts'
import { writePng } from './png.ts'

/** Numbers from 0 to below 1, drawn in turn from the hash of a text. */
const drawFrom = (seed: string) => {
  let block = createHash('sha256').update(seed).digest()
  let at = 0
  return (): number => {
    if (at + 4 > block.length) {
      block = createHash('sha256').update(block).digest()
      at = 0
    }
    at += 4
    return block.readUInt32BE(at - 4) / 2 ** 32
  }
}

type Draw = () => number
type Colour = readonly [number, number, number]

const colour = (draw: Draw): Colour => [draw() * 255, draw() * 255, draw() * 255]

const WAVES = 4
const DISCS = 7

/** Everything is measured in parts of the shorter side, so that an image looks the same at each size. */
const patternFrom = (draw: Draw) => ({
  low: colour(draw),
  high: colour(draw),
  waves: Array.from({ length: WAVES }, () => ({
    x: (draw() - 0.5) * 24,
    y: (draw() - 0.5) * 24,
    phase: draw() * 2 * Math.PI,
  })),
  discs: Array.from({ length: DISCS }, () => ({
    x: draw() * 1.2,
    y: draw() * 1.2,
    radius: 0.05 + draw() * 0.25,
    colour: colour(draw),
  })),
})

type Pattern = ReturnType<typeof patternFrom>

const add = (to: Float64Array, at: number, amount: number) => {
  to[at] = (to[at] ?? 0) + amount
}

/** The sines and cosines of the waves along one side, computed once, so that a point of the image needs none. */
const along = (length: number, unit: number, waves: readonly { step: number; phase: number }[]) =>
  waves.map(({ step, phase }) => ({
    sines: Float64Array.from({ length }, (_, at) => Math.sin((step * at) / unit + phase)),
    cosines: Float64Array.from({ length }, (_, at) => Math.cos((step * at) / unit + phase)),
  }))

/** Where each point lies between the two colours, from 0 to 1. */
const sharesOf = ({ waves }: Pattern, width: number, height: number): Float64Array => {
  const unit = Math.min(width, height)
  const columns = along(
    width,
    unit,
    waves.map(({ x, phase }) => ({ step: x, phase })),
  )
  const rows = along(
    height,
    unit,
    waves.map(({ y }) => ({ step: y, phase: 0 })),
  )
  const shares = new Float64Array(width * height).fill(0.5)
  for (const [wave, { sines, cosines }] of columns.entries())
    for (let y = 0; y < height; y++) {
      const sine = (rows[wave]?.sines[y] ?? 0) / WAVES / 2
      const cosine = (rows[wave]?.cosines[y] ?? 0) / WAVES / 2
      for (let x = 0; x < width; x++)
        add(shares, y * width + x, (sines[x] ?? 0) * cosine + (cosines[x] ?? 0) * sine)
    }
  return shares
}

type Canvas = { readonly pixels: Float64Array; readonly width: number; readonly height: number }

/** Covers a disc with its colour, softly at the edge. */
const cover = (disc: Pattern['discs'][number], { pixels, width, height }: Canvas) => {
  const unit = Math.min(width, height)
  const [middleX, middleY, radius] = [disc.x * unit, disc.y * unit, disc.radius * unit]
  const [red, green, blue] = disc.colour
  const bottom = Math.min(height, Math.ceil(middleY + radius))
  const right = Math.min(width, Math.ceil(middleX + radius))
  for (let y = Math.max(0, Math.floor(middleY - radius)); y < bottom; y++)
    for (let x = Math.max(0, Math.floor(middleX - radius)); x < right; x++) {
      const away = Math.sqrt((x - middleX) * (x - middleX) + (y - middleY) * (y - middleY)) / radius
      if (away >= 1) continue
      const share = Math.min(1, (1 - away) * 6) * 0.8
      const at = (y * width + x) * 3
      add(pixels, at, (red - (pixels[at] ?? 0)) * share)
      add(pixels, at + 1, (green - (pixels[at + 1] ?? 0)) * share)
      add(pixels, at + 2, (blue - (pixels[at + 2] ?? 0)) * share)
    }
}

const drawn = (seed: string, width: number, height: number): Facts => {
  const pattern = patternFrom(drawFrom(seed))
  const pixels = new Float64Array(width * height * 3)
  const { low, high } = pattern
  for (const [point, share] of sharesOf(pattern, width, height).entries())
    for (let part = 0; part < 3; part++) {
      const from = low[part] ?? 0
      pixels[point * 3 + part] = from + ((high[part] ?? 0) - from) * share
    }
  for (const disc of pattern.discs) cover(disc, { pixels, width, height })
  const png = writePng(width, height, Uint8Array.from(pixels))
  return { b64_json: Buffer.from(png).toString('base64'), width, height }
}

/** `n` images of `size`, each from its own seed. */
export const makeSketch: Make = async ({ prompt, n, size }) => {
  const { width, height } = sidesOf(String(size))
  const images = Array.from({ length: Number(n) }, (_, index) => drawn(`${index} ${prompt}`, width, height))
  return { json: { images } }
}

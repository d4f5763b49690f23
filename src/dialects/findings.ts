/**
 * What one walk over a request finds beside its faults: what it holds for the meter, and what only another vendor knows.
 * Pictures are bounded by the piece, plain sound by its length; all other media (a PDF, a film, what only the vendor will
 * fetch) may cost as much as the model's context holds, however few its bytes.
 */
import type { InputSize } from '../core/call.ts'
import type { JsonBody } from '../core/json-body.ts'
import { mediaTypeOf } from './media.ts'

/** Of media that only the vendor will fetch nothing is known: it may be as long as the model's context. */
const UNKNOWN_BYTES = 100_000_000

/** Sound whose bytes grow with its length. In others silence costs next to none. */
const PLAIN_SOUND = /^audio\/(?:x-)?(?:wav|wave|mp3|mpeg|mpga|pcm16|l16|aiff)$/

/** Text, which has no more tokens than bytes. */
const WRITTEN = /^(?:text\/|application\/(?:json|xml|(?:x-)?javascript|x-python)$)/

/** Addresses behind which the vendor finds a film or something it has stored, whatever the caller calls it. */
const FILM =
  /^https?:\/\/(?:[^/?#]*[.@])?(?:youtube(?:-nocookie)?\.com|youtu\.be|generativelanguage\.googleapis\.com)\.?(?:[:/?#]|$)/i

/** Whether an address may be one of a picture, as far as an address can tell. */
const mayBePicture = (url: string): boolean =>
  /^https?:/i.test(url) && !FILM.test(url) && mediaTypeOf({ url }, 'image/png').startsWith('image/')

/** The media type in a `data:` address. */
const typeOf = (url: string): string | undefined => /^data:([^;,]*)/i.exec(url.slice(0, 200))?.[1]

/** Filled by the shapes of a request, one for each request. */
export class Findings {
  /** It holds a mark of another vendor's: see signatures.ts. */
  foreign = false
  /** It holds reasoning of earlier answers. */
  thoughts = false
  /** Text that the vendor adds itself, in tokens at most. */
  template = 0
  /** Messages: blocks refer to tools, which stand there once more. */
  showsTools = false
  #images = 0
  #inlined = 0
  #audioBytes = 0
  #elsewhere = 0
  #unbounded = false

  /** Something that only the vendor knows. */
  unknown(): void {
    this.#elsewhere = UNKNOWN_BYTES
    this.#unbounded = true
  }

  /** Media inline, in base64 of that length. */
  inline(mediaType: string, length: number): void {
    const type = (mediaType.toLowerCase().split(';')[0] ?? '').trim()
    if (type.startsWith('image/')) {
      this.#images++
      this.#inlined += length
    } else if (PLAIN_SOUND.test(type)) {
      this.#audioBytes += length
      this.#inlined += length
    } else if (!WRITTEN.test(type)) this.#unbounded = true
  }

  /** Media at an address; a picture when the caller says so and the address does not say otherwise. */
  address(url: string, picture: boolean): void {
    if (picture && mayBePicture(url)) this.#images++
    else this.unknown()
  }

  /** A picture at an address or in a `data:` one. */
  picture(url: string): void {
    const type = typeOf(url)
    if (type === undefined) this.address(url, true)
    else this.inline(type, url.length)
  }

  /** A document in a `data:` address; anything else is only the vendor's to find. */
  file(data: string | undefined): void {
    if (data === undefined || /^https?:/i.test(data)) this.unknown()
    else this.inline(typeOf(data) ?? '', data.length)
  }

  /** The size of a body with these findings. */
  sizeOf(body: JsonBody): InputSize {
    const textBytes = Math.max(0, body.bytes.length - this.#inlined) + this.template + this.#elsewhere
    const images = this.#images
    const audioBytes = this.#audioBytes
    return this.#unbounded
      ? { textBytes, images, audioBytes, unbounded: true }
      : { textBytes, images, audioBytes }
  }
}

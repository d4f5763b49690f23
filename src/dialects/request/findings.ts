/**
 * What one walk over a request finds beside its faults: what the meter needs to know, and what only another vendor
 * would recognise. Each image has a bound, and plain sound is bounded by its length. Any other media (a PDF, a film, an
 * address that only the vendor will fetch) may cost as much as the model's context holds, however few its bytes.
 */
import type { InputSize } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import { mediaTypeOf } from '../translate/media.ts'

/** Nothing is known of media that only the vendor will fetch: it may fill the model's context. */
const UNKNOWN_BYTES = 100_000_000

/** Sound formats whose bytes grow with the length. In other formats silence costs almost no bytes. */
const PLAIN_SOUND = /^audio\/(?:x-)?(?:wav|wave|mp3|mpeg|mpga|pcm16|l16|aiff)$/

/** Text, which never has more tokens than bytes. */
const WRITTEN = /^(?:text\/|application\/(?:json|xml|(?:x-)?javascript|x-python)$)/

/** Addresses where the vendor finds a film or something it has stored, whatever the caller calls it. */
const FILM =
  /^https?:\/\/(?:[^/?#]*[.@])?(?:youtube(?:-nocookie)?\.com|youtu\.be|generativelanguage\.googleapis\.com)\.?(?:[:/?#]|$)/i

/** Whether an address may be that of an image, as far as an address can tell. */
const mayBePicture = (url: string): boolean =>
  /^https?:/i.test(url) && !FILM.test(url) && mediaTypeOf({ url }, 'image/png').startsWith('image/')

/** The media type in a `data:` address. */
const typeOf = (url: string): string | undefined => /^data:([^;,]*)/i.exec(url.slice(0, 200))?.[1]

/** Filled while a request is checked; one for each request. */
export class Findings {
  /** It contains a mark of another vendor's signature: see signatures.ts. */
  foreign = false
  /** It contains reasoning of earlier answers. */
  thoughts = false
  /** The most tokens of text that the vendor itself adds. */
  template = 0
  /** Messages: some blocks refer to tools, whose text counts once more for each reference. */
  showsTools = false
  #images = 0
  #inlined = 0
  #audioBytes = 0
  #elsewhere = 0
  #unbounded = false
  #uses = 0
  #searches = 0
  #roundsMost = Number.POSITIVE_INFINITY

  /** Something that only the vendor knows. */
  unknown(): void {
    this.#elsewhere = UNKNOWN_BYTES
    this.#unbounded = true
  }

  /**
   * A tool that the vendor may run so often, in so many rounds at most for all of them; searches are paid beside the
   * tokens.
   */
  hosted(uses: number, searches: number, roundsMost = Number.POSITIVE_INFINITY): void {
    this.#uses += uses
    this.#searches += searches
    this.#roundsMost = roundsMost
    this.#unbounded = true
  }

  /** Inlined media, as base64 of this length. */
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

  /** Media at an address; an image if the caller says so and the address does not say otherwise. */
  address(url: string, picture: boolean): void {
    if (picture && mayBePicture(url)) this.#images++
    else this.unknown()
  }

  /** An image at an address, which may be a `data:` address. */
  picture(url: string): void {
    const type = typeOf(url)
    if (type === undefined) this.address(url, true)
    else this.inline(type, url.length)
  }

  /** A document in a `data:` address; at any other address only the vendor can find it. */
  file(data: string | undefined): void {
    if (data === undefined || /^https?:/i.test(data)) this.unknown()
    else this.inline(typeOf(data) ?? '', data.length)
  }

  /** The size of a body with these findings. */
  sizeOf(body: JsonBody): InputSize {
    const textBytes = Math.max(0, body.bytes.length - this.#inlined) + this.template + this.#elsewhere
    const images = this.#images
    const audioBytes = this.#audioBytes
    if (this.#uses + this.#searches > 0) {
      const hosted = { rounds: Math.min(1 + this.#uses, this.#roundsMost), searches: this.#searches }
      return { textBytes, images, audioBytes, unbounded: true, hosted }
    }
    return this.#unbounded
      ? { textBytes, images, audioBytes, unbounded: true }
      : { textBytes, images, audioBytes }
  }
}

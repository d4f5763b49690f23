/**
 * What media a request holds, for its hold. Pictures are bounded by the piece, plain sound by its length; all else (a
 * PDF, a film, what only the vendor will fetch) may cost as much as the model's context holds, however few its bytes.
 */
import type { InputSize } from '../core/call.ts'
import type { JsonBody } from '../core/json-body.ts'
import { mediaTypeOf } from './media.ts'

/** Of media that only the vendor will fetch nothing is known: it may be as long as the model's context. */
const UNKNOWN_BYTES = 100_000_000

/** Sound whose bytes grow with its length. In others silence costs next to none. */
const PLAIN_SOUND = /^audio\/(?:x-)?(?:wav|wave|mp3|mpeg|mpga|pcm16|l16|aiff)$/

/** What is read as it is written: no more tokens than bytes. */
const WRITTEN = /^(?:text\/|application\/(?:json|xml|(?:x-)?javascript|x-python)$)/

/** Addresses behind which the vendor finds a film or something it has stored, whatever the caller calls it. */
const FILM =
  /^https?:\/\/(?:[^/?#]*[.@])?(?:youtube(?:-nocookie)?\.com|youtu\.be|generativelanguage\.googleapis\.com)\.?(?:[:/?#]|$)/i

export type MediaSize = {
  /** Media inline, in base64 of that length. */
  inline(mediaType: string, length: number): void
  /** Media at an address; a picture when the caller says so and the address does not say otherwise. */
  address(url: string, picture: boolean): void
  /** A picture at an address or in a `data:` one. */
  picture(url: string): void
  /** A document in a `data:` address; anything else is only the vendor's to find. */
  file(data: string | undefined): void
  /** Something of which only the vendor knows what it is. */
  unknown(): void
  /** The size of a body with the media counted so far; `template` is text the vendor adds, in tokens at most. */
  of(body: JsonBody, template: number): InputSize
}

/** Whether an address may be one of a picture, as far as an address can tell. */
const mayBePicture = (url: string): boolean =>
  /^https?:/i.test(url) && !FILM.test(url) && mediaTypeOf({ url }, 'image/png').startsWith('image/')

/** The media type in a `data:` address. */
const typeOf = (url: string): string | undefined => /^data:([^;,]*)/i.exec(url.slice(0, 200))?.[1]

export const newMediaSize = (): MediaSize => {
  let images = 0
  let inlined = 0
  let audioBytes = 0
  let elsewhere = 0
  let unbounded = false
  const unknown = () => {
    elsewhere = UNKNOWN_BYTES
    unbounded = true
  }
  const inline = (mediaType: string, length: number) => {
    const type = (mediaType.toLowerCase().split(';')[0] ?? '').trim()
    if (type.startsWith('image/')) {
      images++
      inlined += length
    } else if (PLAIN_SOUND.test(type)) {
      audioBytes += length
      inlined += length
    } else if (!WRITTEN.test(type)) unbounded = true
  }
  const address = (url: string, picture: boolean) => {
    if (picture && mayBePicture(url)) images++
    else unknown()
  }
  return {
    inline,
    address,
    unknown,
    picture: (url) => {
      const type = typeOf(url)
      if (type === undefined) address(url, true)
      else inline(type, url.length)
    },
    file: (data) => {
      if (data === undefined || /^https?:/i.test(data)) unknown()
      else inline(typeOf(data) ?? '', data.length)
    },
    of: (body, template) => ({
      textBytes: Math.max(0, body.bytes.length - inlined) + template + elsewhere,
      images,
      audioBytes,
      ...(unbounded ? { unbounded } : {}),
    }),
  }
}

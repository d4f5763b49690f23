/** Reads an answer that is an image's own bytes, with its metadata in headers. */

import { NOT_READ } from './picture-list.ts'
import type { VendorAnswer, Verdict } from './shape.ts'

/**
 * The verdict on an answer of bytes. Filters show in the header `finish-reason`, beside a blurred or black image that
 * is not delivered. Undefined for an unsuccessful status.
 */
export const readPictureBytes = ({ status, header, bytes }: VendorAnswer): Verdict | undefined => {
  if (status < 200 || status > 299) return undefined
  const reason = header('finish-reason')
  if (reason === 'CONTENT_FILTERED') return { verdict: 'blocked' }
  if (!(header('content-type') ?? '').startsWith('image/') || bytes.length === 0) return NOT_READ
  const seed = Number(header('seed') ?? Number.NaN)
  return {
    verdict: 'done',
    outputs: [{ type: 'image', from: { bytes }, at: ['image', 'url'] }],
    body: {
      image: { url: null },
      ...(reason === undefined ? {} : { finish_reason: reason }),
      ...(Number.isSafeInteger(seed) ? { seed } : {}),
    },
    measured: { image: 1 },
  }
}

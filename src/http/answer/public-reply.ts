/**
 * Answers that anyone may read, from any page, and cache for a while: they stay the same until the catalogue changes.
 */
import type { Answer } from '../../gateway/parts/answer.ts'
import { PAGE_POLICY } from '../../products/pages/page.ts'
import type { HttpCall } from '../route/route.ts'

const encoder = new TextEncoder()
const NOTHING = new Uint8Array()
const KEPT_S = 60

/** `same` is the text that decides the ETag; by default the whole text. */
export const publicReply = (
  { request }: HttpCall,
  { type, text, same = text }: { readonly type: string; readonly text: string; readonly same?: string },
): Answer => {
  const hash = new Bun.CryptoHasher('sha256').update(same).digest('base64url')
  const tag = `W/"${hash.slice(0, 22)}"`
  const headers = {
    etag: tag,
    'cache-control': `public, max-age=${KEPT_S}`,
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'etag',
    'x-content-type-options': 'nosniff',
    vary: 'host',
  }
  const known =
    request.headers
      .get('if-none-match')
      ?.split(',')
      .map((one) => one.trim()) ?? []
  if (known.includes(tag) || known.includes('*')) return { status: 304, headers, body: NOTHING }
  return { status: 200, headers: { ...headers, 'content-type': type }, body: encoder.encode(text) }
}

/** A page with its single style; it loads nothing and runs no script. */
export const publicPage = (call: HttpCall, text: string): Answer => {
  const { headers, ...answer } = publicReply(call, { type: 'text/html; charset=utf-8', text })
  const policy = { 'content-security-policy': PAGE_POLICY, 'referrer-policy': 'no-referrer' }
  return { ...answer, headers: { ...headers, ...policy } }
}

export const publicJson = (call: HttpCall, value: object, type = 'application/json'): Answer =>
  publicReply(call, { type, text: JSON.stringify(value) })

/** The caller's key, in the header or the query its client library sends it in. */
import { invalid, type Refusal } from '../core/refusal.ts'

export type CredentialStyle = 'bearer' | 'messages' | 'gemini'

/**
 * The `Authorization` value that stands for the request's credential; null when there is none. Two different keys in
 * one request are refused: which of them pays must not depend on the reader.
 */
export const credentialOf = (
  headers: Headers,
  query: string,
  style: CredentialStyle,
): string | null | Refusal => {
  const given = headers.get('authorization')
  if (style === 'bearer') return given
  const keys =
    style === 'messages' ? [headers.get('x-api-key')] : [headers.get('x-goog-api-key'), queryKey(query)]
  let credential = given
  for (const key of keys) {
    if (key === null || key === undefined || key === '') continue
    const bearer = `Bearer ${key}`
    if (credential !== null && credential !== bearer)
      return invalid('authorization', 'The request carries two different keys; send one of them.')
    credential = bearer
  }
  return credential
}

const queryKey = (query: string): string | undefined =>
  query === '' ? undefined : (new URLSearchParams(query).get('key') ?? undefined)

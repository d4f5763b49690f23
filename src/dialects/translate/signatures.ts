/**
 * Signatures of reasoning: opaque texts by which a vendor recognises its own thoughts when they are sent back.
 *
 * A signature is only worth something to the kind of vendor that made it. In another dialect it travels in that
 * dialect's own place for signatures, marked with its origin. If there is no such place it travels in the id of the
 * tool call it belongs to, because every client sends that id back, whether or not it knows of signatures.
 */
const origins = ['messages', 'gemini', 'chat', 'responses'] as const
export type SignatureOrigin = (typeof origins)[number]

export type Signature = { readonly origin: SignatureOrigin; readonly value: string }

const MARK = 'turnpike.'

/** `MARK` in base64. It fills whole base64 groups, so every marked text begins with the same letters. */
const MARK_BASE64 = Buffer.from(MARK).toString('base64')

/** The signature as text, for a dialect whose own signatures have the origin `home`. */
export const writeSignature = (signature: Signature, home: SignatureOrigin): string => {
  if (signature.origin === home) return signature.value
  const marked = `${MARK}${signature.origin}.${signature.value}`
  // Clients of this dialect read signatures as bytes, so anything but base64 would break them.
  return home === 'gemini' ? Buffer.from(marked).toString('base64') : marked
}

/** Stands in for the signature of a thought that has none, for clients that require one. */
export const unsigned: Signature = { origin: 'chat', value: '' }

/** The reverse: a text without a mark has the dialect's own origin. */
export const readSignature = (written: string, home: SignatureOrigin): Signature => {
  const text = written.startsWith(MARK_BASE64) ? Buffer.from(written, 'base64').toString('utf8') : written
  for (const origin of origins) {
    const mark = `${MARK}${origin}.`
    if (text.startsWith(mark)) return { origin, value: text.slice(mark.length) }
  }
  return { origin: home, value: text }
}

const HIDDEN = 'hidden.'

/** For dialects with one place for all signatures: also says that the thought has no text of its own. */
export const writeHidden = (signature: Signature, home: SignatureOrigin): string =>
  signature.origin === home
    ? signature.value
    : writeSignature({ ...signature, value: HIDDEN + signature.value }, home)

/** A signature as members of a thought; none if there is no signature, or only the mark for none. */
export const signed = (
  written: string | undefined,
  home: SignatureOrigin,
): { readonly signature?: Signature; readonly redacted?: true } => {
  if (!written) return {}
  const signature = readSignature(written, home)
  if (signature.value === '') return {}
  return signature.origin !== home && signature.value.startsWith(HIDDEN)
    ? { signature: { ...signature, value: signature.value.slice(HIDDEN.length) }, redacted: true }
    : { signature }
}

/** Whether a signature was written for another dialect than its own: a vendor would not know it. */
export const isForeign = (text: unknown): boolean =>
  typeof text === 'string' && (text.startsWith(MARK) || text.startsWith(MARK_BASE64))

const ID_MARK = '__sig_'
/** Marks a signature that is not standard base64 and is encoded once more. */
const PACKED_MARK = '__sigp_'

/** A tool call's id with the signature inside, in letters that every dialect allows in an id. */
export const idWith = (id: string, signature: Signature | undefined): string => {
  if (signature === undefined || signature.origin !== 'gemini') return id
  const bytes = Buffer.from(signature.value, 'base64')
  return bytes.toString('base64') === signature.value
    ? `${id}${ID_MARK}${bytes.toString('base64url')}`
    : `${id}${PACKED_MARK}${Buffer.from(signature.value).toString('base64url')}`
}

/** The id and the signature in a tool call's id that a client sent back. */
export const splitId = (id: string): { readonly id: string; readonly signature?: Signature } => {
  for (const mark of [ID_MARK, PACKED_MARK]) {
    const at = id.indexOf(mark)
    if (at < 0) continue
    const bytes = Buffer.from(id.slice(at + mark.length), 'base64url')
    const value = bytes.toString(mark === ID_MARK ? 'base64' : 'utf8')
    return { id: id.slice(0, at), signature: { origin: 'gemini', value } }
  }
  return { id }
}

export const hasSignature = (id: unknown): boolean =>
  typeof id === 'string' && (id.includes(ID_MARK) || id.includes(PACKED_MARK))

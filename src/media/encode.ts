/** A request to a vendor as path, headers and bytes. Forms follow RFC 7578. */
import { concat } from '../core/json-body.ts'
import type { FormPart, Outgoing } from './shape.ts'

type Encoded = {
  readonly method: Outgoing['method']
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

const encoder = new TextEncoder()
const NOTHING = new Uint8Array()

/** `boundary` must not occur in any part; we use a call's id. */
export const encodeOutgoing = (
  { method, path, query, headers = {}, body }: Outgoing,
  boundary: string,
): Encoded => {
  const search = new URLSearchParams(query).toString()
  const whole = search === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${search}`
  const { type, bytes } = encodeBody(body, boundary)
  return {
    method,
    path: whole,
    headers: { ...headers, ...(type === undefined ? {} : { 'content-type': type }) },
    body: bytes,
  }
}

const encodeBody = (body: Outgoing['body'], boundary: string): { type?: string; bytes: Uint8Array } => {
  if (body === undefined) return { bytes: NOTHING }
  if ('json' in body) return { type: 'application/json', bytes: encoder.encode(JSON.stringify(body.json)) }
  if ('raw' in body) return { type: body.raw.mediaType, bytes: body.raw.bytes }
  const pieces = body.form.flatMap((part) => [
    encoder.encode(`--${boundary}\r\n${headOf(part)}\r\n\r\n`),
    'text' in part ? encoder.encode(part.text) : part.file.bytes,
    encoder.encode('\r\n'),
  ])
  const bytes = concat([...pieces, encoder.encode(`--${boundary}--\r\n`)])
  return { type: `multipart/form-data; boundary=${boundary}`, bytes }
}

/** Characters that a quoted name may not contain, escaped as browsers do. */
const quoted = (text: string): string =>
  text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')

const headOf = (part: FormPart): string => {
  const name = `Content-Disposition: form-data; name="${quoted(part.name)}"`
  return 'text' in part
    ? name
    : `${name}; filename="${quoted(part.filename)}"\r\nContent-Type: ${part.file.mediaType}`
}

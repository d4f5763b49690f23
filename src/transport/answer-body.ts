/** The body of a vendor's answer: unpacked if it came compressed, and its length if that is known. */

/** The runtime's names for the HTTP encodings that it can undo. */
const ENCODINGS: Readonly<Record<string, string>> = {
  gzip: 'gzip',
  'x-gzip': 'gzip',
  deflate: 'deflate',
  br: 'brotli',
  zstd: 'zstd',
}

/** The decoded body. An unknown encoding fails when the body is read. */
const bodyOf = ({ body, headers }: Response) => {
  const encoding = headers.get('content-encoding')
  const format = encoding === null ? undefined : ENCODINGS[encoding.trim().toLowerCase()]
  return format === undefined ? body : body?.pipeThrough(new DecompressionStream(format as 'gzip'))
}

/** Reads it piece by piece. */
export const readerOf = (response: Response) => bodyOf(response)?.getReader()

/** The declared length of a body that comes without an encoding. */
export const lengthOf = (headers: Headers): number | undefined => {
  const declared = headers.get('content-length')
  return declared === null || headers.has('content-encoding') ? undefined : Number(declared)
}

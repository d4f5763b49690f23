/**
 * Files that callers upload: streamed to the store, listed, read and deleted. Source: OpenAI API reference, "Files".
 */

import { AssetFault } from '../../assets/take.ts'
import type { Uploads } from '../../assets/uploads.ts'
import { readFileId, shownFileId } from '../../core/file-id.ts'
import { invalid, must, type Refusal, refuse, unavailable } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { PART_PURPOSE, type Upload } from '../../store/calls/asset-port.ts'
import { json } from '../answer/reply.ts'
import { bodyPieces } from '../request/body-pieces.ts'
import { A_FILE, anyCallerOf, keeperOf } from '../request/caller.ts'
import { boundaryOf, formParts, textOf } from '../request/form-parts.ts'
import { readQuery } from '../request/query.ts'
import { tooLarge } from '../request/read-body.ts'
import { NO_BOUNDARY } from '../request/read-form.ts'
import { type CredentialStyle, isOfMessages } from '../route/headers.ts'
import type { HttpCall } from '../route/route.ts'
import { sendAsset } from './assets.ts'

/** The form's other fields. */
export const FORM_BYTES = 64 * 1024
const FIELD_MAX = 1_024
const NAME_MAX = 255

export const createFile = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const uploads = uploadsOf(gateway)
  const key = await keeperOf(gateway, call, A_FILE, styleOf(call))
  const { trace, request } = call
  takePlace(gateway.capacity, trace.taken)
  await takeTurn(gateway, key, trace)
  const full = await uploads.full(key.id)
  if (full !== undefined) throw full
  const boundary = boundaryOf(request.headers.get('content-type'))
  const bytes = bodyPieces(gateway, call, uploads.bytesMax + (boundary === undefined ? 0 : FORM_BYTES))
  return stored(gateway, call, async () => {
    try {
      const sent = boundary === undefined ? rawFile(call, bytes) : await formFile(bytes, boundary)
      const pieces = counted(sent.pieces, uploads.bytesMax)
      return json(
        shown(call, await uploads.take({ keyId: key.id, requestId: trace.callId, ...sent, pieces })),
      )
    } finally {
      await bytes.return(undefined)
    }
  })
}

/** The answer of what stores a file. Throws the Refusal of a file that cannot be stored. */
export const stored = async (gateway: Gateway, { trace }: HttpCall, work: () => Promise<Answer>) => {
  try {
    return await work()
  } catch (thrown) {
    if (!(thrown instanceof AssetFault)) throw thrown
    gateway.log.warn('a file could not be stored', { call: trace.callId, error: thrown.message })
    throw unavailable('The file could not be stored.')
  }
}

type Sent = Pick<Parameters<Uploads['take']>[0], 'pieces' | 'note'>

/** Some clients send the purpose before the file, others after it. */
const formFile = async (bytes: AsyncGenerator<Uint8Array>, boundary: string): Promise<Sent> => {
  const parts = formParts(bytes, boundary)
  const fields = new Map<string, string>()
  /** Reads fields up to the next file. */
  const toFile = async () => {
    for (let part = await parts.next(); part.done !== true; part = await parts.next()) {
      const { name, filename, pieces } = part.value
      if (name === 'file') return { filename: filename ?? '', pieces }
      if (fields.has(name)) throw invalid(name, `'${name}' came twice.`)
      fields.set(name, await textOf(pieces, FIELD_MAX))
    }
    return undefined
  }
  const file = await toFile()
  if (file === undefined) throw invalid('file', "'file' is required: a part of the form with the file.")
  const note = async () => {
    if ((await toFile()) !== undefined) throw invalid('file', "'file' came twice: one file a request.")
    return noteOf(fields, file.filename)
  }
  return { pieces: file.pieces, note }
}

const rawFile = ({ query, request }: HttpCall, pieces: AsyncGenerator<Uint8Array>): Sent => {
  const type = request.headers.get('content-type') ?? ''
  if (/^multipart\//i.test(type)) throw refuse('unsupported_media_type', NO_BOUNDARY)
  if (/^application\/(?:json|x-www-form-urlencoded)/i.test(type))
    throw refuse(
      'unsupported_media_type',
      "Send the file in a form (multipart/form-data) in the part 'file', or as the body itself, with its own Content-Type.",
    )
  const read = must(readQuery(query, ['filename', 'purpose']))
  const note = noteOf(read, read.get('filename') ?? 'upload')
  return { pieces, note: async () => note }
}

const SECONDS_MIN = 3_600

/** The file's metadata. Throws the Refusal of what is wrong. */
export const noteOf = (fields: ReadonlyMap<string, string>, filename: string) => {
  const purpose = fields.get('purpose') ?? 'user_data'
  if (!/^[a-z][a-z_-]{0,39}$/.test(purpose) || purpose.startsWith(PART_PURPOSE)) throw noPurpose()
  const seconds = fields.get('expires_after[seconds]')
  if (seconds !== undefined && !(Number(seconds) >= SECONDS_MIN))
    throw invalid('expires_after', `'expires_after[seconds]' must be at least ${SECONDS_MIN}.`)
  return {
    purpose,
    // A path in the name is the caller's own affair; control characters could break tools that list it.
    name:
      storable(filename)
        .replaceAll(/\p{Cc}/gu, '')
        .slice(0, NAME_MAX) || 'upload',
    lifeMs: seconds === undefined ? undefined : Number(seconds) * 1000,
  }
}

/** Parts of files are kept under purposes of their own, which no file has. */
const noPurpose = (): Refusal => invalid('purpose', "'purpose' must be a word such as vision or user_data.")

/** Throws the refusal of a file that is empty or too large. */
export async function* counted(
  pieces: AsyncGenerator<Uint8Array>,
  bytesMax: number,
): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of pieces) {
    bytes += piece.length
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    yield piece
  }
  if (bytes === 0) throw invalid('file', "'file' is empty.")
}

const LIST_MAX = 1_000
type Parameter = 'purpose' | 'limit' | 'after' | 'order' | 'page' | 'after_id'
const openaiQuery: readonly Parameter[] = ['purpose', 'limit', 'after', 'order']
const messagesQuery: readonly Parameter[] = ['limit', 'page', 'after_id']
const cursorNames = ['after', 'page', 'after_id'] as const

export const listFiles = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const uploads = uploadsOf(gateway)
  const key = await anyCallerOf(gateway, call, styleOf(call))
  const query = must(readQuery(call.query, isOfMessages(call) ? messagesQuery : openaiQuery))
  const [order, limit] = [query.get('order') ?? 'desc', query.get('limit') ?? '100']
  const by = cursorNames.find((name) => query.has(name)) ?? 'after'
  const after = query.get(by)
  if (order !== 'desc' && order !== 'asc') throw invalid('order', "'order' must be asc or desc.")
  if (!/^[1-9]\d{0,4}$/.test(limit)) throw invalid('limit', "'limit' must be a number of files.")
  const most = Math.min(Number(limit), LIST_MAX)
  const cursor = after === undefined ? undefined : readFileId(after)
  if (after !== undefined && cursor === undefined) throw invalid(by, `'${by}' must be the id of a file.`)
  const purpose = query.get('purpose')
  if (purpose?.startsWith(PART_PURPOSE)) throw noPurpose()
  const found = await uploads.list({
    keyId: key.id,
    purpose,
    after: cursor,
    newestFirst: order === 'desc',
    limit: most + 1,
  })
  if (found === undefined) throw goneCursor(by)
  const data = found.slice(0, most).map((one) => shown(call, one))
  return json({
    object: 'list',
    data,
    has_more: found.length > most,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    ...(isOfMessages(call) ? { next_page: found.length > most ? (data.at(-1)?.id ?? null) : null } : {}),
  })
}

export const getFile = async (gateway: Gateway, call: HttpCall): Promise<Answer> =>
  json(shown(call, await named(gateway, call)))

export const getFileContent = async (gateway: Gateway, call: HttpCall): Promise<Answer> =>
  sendAsset(gateway, call, await named(gateway, call))

export const deleteFile = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const { id, keyId } = await named(gateway, call)
  if (gateway.assets === undefined || !(await gateway.assets.end(id, keyId))) throw noFile()
  const shownId = shownFileId(id)
  return json(
    isOfMessages(call)
      ? { id: shownId, type: 'file_deleted' }
      : { id: shownId, object: 'file', deleted: true },
  )
}

/** The file that the address names, if it belongs to the caller or to a key below. */
const named = async (gateway: Gateway, call: HttpCall): Promise<Upload> => {
  const uploads = uploadsOf(gateway)
  const key = await anyCallerOf(gateway, call, styleOf(call))
  const id = readFileId(call.params.id ?? '')
  const upload = id === undefined ? undefined : await uploads.findFor(id, key.id)
  if (upload === undefined) throw noFile()
  return upload
}

/** Clients of messages have their key, and read files, in their own way. */
const styleOf = (call: HttpCall): CredentialStyle => (isOfMessages(call) ? 'messages' : 'bearer')

/** A file as its caller's client reads it. Sources: OpenAI API reference, "Files"; Anthropic API reference, "Files". */
const shown = (call: HttpCall, upload: Upload) =>
  isOfMessages(call) ? messagesFile(upload) : openaiFile(upload)

const messagesFile = ({ id, bytes, createdAt, expiresAt, name, mediaType }: Upload) => ({
  id: shownFileId(id),
  type: 'file' as const,
  filename: name,
  mime_type: mediaType,
  size_bytes: bytes,
  created_at: new Date(createdAt).toISOString(),
  expires_at: new Date(expiresAt).toISOString(),
  downloadable: true,
})

/** A file as OpenAI's clients read it. */
export const openaiFile = ({ id, bytes, createdAt, expiresAt, name, purpose }: Upload) => ({
  id: shownFileId(id),
  object: 'file' as const,
  bytes,
  created_at: Math.floor(createdAt / 1000),
  expires_at: Math.floor(expiresAt / 1000),
  filename: name,
  purpose,
  status: 'processed' as const,
})

/** Where files are kept. Throws the Refusal where they are not. */
export const uploadsOf = ({ assets }: Gateway): Uploads => {
  if (assets === undefined) throw unavailable('Files cannot be kept here.')
  return assets.uploads
}

/** The refusal of a page after a file that is gone. */
export const goneCursor = (name: string): Refusal =>
  invalid(name, `'${name}' names a file that is not here any more: begin the list again.`)

/** The 404 of a file that the caller does not have. */
export const noFile = (): Refusal =>
  refuse('not_found', 'There is no file of this id, it has expired, or it is not yours.')

/**
 * Files as Google's clients send, list and delete them: by a resumable upload, whose last request joins what came before.
 * Sources: Gemini API reference, "Files"; npm @google/genai 3.3.0, `uploadBlob`.
 */
import { readFileId, shownFileId } from '../../core/file-id.ts'
import { isObject, readJsonBody } from '../../core/json-body.ts'
import { invalid, must } from '../../core/refusal.ts'
import { textOf } from '../../dialects/request/json-members.ts'
import { member } from '../../dialects/request/spelling.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Upload } from '../../store/calls/asset-port.ts'
import { json } from '../answer/reply.ts'
import { bodyPieces } from '../request/body-pieces.ts'
import { A_FILE, anyCallerOf, keeperOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import { readBody } from '../request/read-body.ts'
import type { Handler, HttpCall } from '../route/route.ts'
import { addressOf } from '../route/router.ts'
import { bytesOfParts, endParts, keepPart, newSession, partsOf } from './file-parts.ts'
import { counted, goneCursor, noFile, noteOf, stored, uploadsOf } from './files.ts'

const PURPOSE = 'user_data'
const START_BYTES_MAX = 10_000
/** The types that clients give to texts. */
const TEXTS = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml|yaml|javascript)\b)/i
/** How the name of a text begins in its session. */
const TEXT_MARK = 'text\n'
/** A session's id, and the file's name in letters that an address may have. */
const SESSION = /^([0-9a-f]{32})-([\w-]{0,400})$/

const baseOf = (gateway: Gateway, { request }: HttpCall): string =>
  gateway.assets?.base() || new URL(addressOf(request)).origin

const shown = (gateway: Gateway, call: HttpCall, it: Upload) => {
  const id = shownFileId(it.id)
  const createTime = new Date(it.createdAt).toISOString()
  return {
    name: `files/${id}`,
    displayName: it.name,
    mimeType: it.mediaType,
    sizeBytes: String(it.bytes),
    createTime,
    updateTime: createTime,
    expirationTime: new Date(it.expiresAt).toISOString(),
    sha256Hash: Buffer.from(it.sha256, 'hex').toString('base64'),
    uri: `${baseOf(gateway, call)}/v1beta/files/${id}`,
    state: 'ACTIVE',
    source: 'UPLOADED',
  }
}

const withStatus = (answer: Answer, status: 'active' | 'final' | 'cancelled', received?: number): Answer => ({
  ...answer,
  headers: {
    ...answer.headers,
    'x-goog-upload-status': status,
    ...(received === undefined ? {} : { 'x-goog-upload-size-received': String(received) }),
  },
})

/** Begins an upload: the answer names the address for the bytes. */
export const startUpload: Handler = async (gateway, call) => {
  const key = await keeperOf(gateway, call, A_FILE, 'gemini')
  if (call.request.headers.get('x-goog-upload-command') !== 'start')
    throw invalid(
      'x-goog-upload-command',
      "Begin with 'X-Goog-Upload-Command: start' and the file's metadata.",
    )
  const full = await uploadsOf(gateway).full(key.id)
  if (full !== undefined) throw full
  const { value } = must(readJsonBody(await readBody(gateway, call, START_BYTES_MAX)))
  const file = isObject(value.file) ? value.file : {}
  const name = textOf(member(file, 'displayName')) ?? 'upload'
  const type =
    call.request.headers.get('x-goog-upload-header-content-type') ?? textOf(member(file, 'mimeType'))
  const noted = `${TEXTS.test(type ?? '') ? TEXT_MARK : ''}${name.slice(0, 255)}`
  const session = `${newSession(gateway, call)}-${Buffer.from(noted).toString('base64url')}`
  const url = `${baseOf(gateway, call)}/upload/v1beta/files/${session.slice(0, 433)}`
  return withStatus({ ...json({}), headers: { ...json({}).headers, 'x-goog-upload-url': url } }, 'active')
}

/** The parts that follow one another: what a client sends again while it is still being stored is there twice. */
const inTurn = (parts: readonly Upload[]): readonly Upload[] => {
  let next = 0
  return parts.filter(({ name, bytes }) => {
    const follows = Number(name) === next
    if (follows) next += bytes
    return follows
  })
}

/** Takes bytes: `upload` for a part, `upload, finalize` for the last one; `query` says how many there are. */
export const sendBytes: Handler = async (gateway, call) => {
  const key = await keeperOf(gateway, call, A_FILE, 'gemini')
  const { headers } = call.request
  const [, session, written = ''] = SESSION.exec(call.params.session ?? '') ?? []
  if (session === undefined) throw noFile()
  const commands = (headers.get('x-goog-upload-command') ?? 'upload, finalize').split(/,\s*/)
  const kept = await partsOf(gateway, key, session)
  const parts = inTurn(kept)
  const received = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  if (commands.includes('cancel')) {
    await endParts(gateway, kept)
    return withStatus(json({}), 'cancelled')
  }
  if (commands.includes('query')) return withStatus(json({}), 'active', received)
  if (Number(headers.get('x-goog-upload-offset') ?? received) !== received)
    throw invalid(
      'x-goog-upload-offset',
      `'X-Goog-Upload-Offset' must be ${received}: so many bytes have come.`,
    )
  takePlace(gateway.capacity, call.trace.taken)
  await takeTurn(gateway, key, call.trace)
  const { bytesMax } = uploadsOf(gateway)
  const pieces = bodyPieces(gateway, call, bytesMax - received)
  const take = async (): Promise<Answer> => {
    if (!commands.includes('finalize')) {
      const part = await keepPart(gateway, key, call.trace.callId, { session, offset: received, pieces })
      return withStatus(json({}), 'active', received + part.bytes)
    }
    const noted = Buffer.from(written, 'base64url').toString()
    const isText = noted.startsWith(TEXT_MARK)
    const name = isText ? noted.slice(TEXT_MARK.length) : noted
    const note = { ...noteOf(new Map([['purpose', PURPOSE]]), name), isText }
    const joined = async function* () {
      yield* bytesOfParts(gateway, parts)
      yield* pieces
    }
    const upload = await uploadsOf(gateway).take({
      keyId: key.id,
      requestId: call.trace.callId,
      pieces: counted(joined(), bytesMax),
      partBytes: received,
      note: async () => note,
    })
    await endParts(gateway, kept)
    return withStatus(json({ file: shown(gateway, call, upload) }), 'final')
  }
  return stored(gateway, call, () => take().finally(() => pieces.return(undefined)))
}

const PAGE_MOST = 100

export const listGoogleFiles: Handler = async (gateway, call) => {
  const key = await anyCallerOf(gateway, call, 'gemini')
  const query = must(readQuery(call.query, ['pageSize', 'pageToken', 'key']))
  const size = query.get('pageSize') ?? '10'
  if (!/^\d{1,3}$/.test(size)) throw invalid('pageSize', "'pageSize' must be a number of files.")
  const most = Math.min(Math.max(Number(size), 1), PAGE_MOST)
  const after = query.get('pageToken')
  const cursor = after === undefined ? undefined : readFileId(after)
  if (after !== undefined && cursor === undefined)
    throw invalid('pageToken', "'pageToken' is no 'nextPageToken' of this list.")
  const found = await uploadsOf(gateway).list({
    keyId: key.id,
    purpose: undefined,
    after: cursor,
    newestFirst: true,
    limit: most + 1,
  })
  if (found === undefined) throw goneCursor('pageToken')
  const page = found.slice(0, most)
  const last = page.at(-1)
  return json({
    files: page.map((one) => shown(gateway, call, one)),
    ...(found.length > most && last !== undefined ? { nextPageToken: shownFileId(last.id) } : {}),
  })
}

/** The file of the address, if it is the caller's. */
const named = async (gateway: Gateway, call: HttpCall): Promise<Upload> => {
  const key = await anyCallerOf(gateway, call, 'gemini')
  const id = readFileId(call.params.id ?? '')
  const upload = id === undefined ? undefined : await uploadsOf(gateway).findFor(id, key.id)
  if (upload === undefined) throw noFile()
  return upload
}

export const getGoogleFile: Handler = async (gateway, call) =>
  json(shown(gateway, call, await named(gateway, call)))

export const deleteGoogleFile: Handler = async (gateway, call) => {
  const { id, keyId } = await named(gateway, call)
  if ((await gateway.assets?.end(id, keyId)) !== true) throw noFile()
  return json({})
}

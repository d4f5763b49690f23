/**
 * An upload in parts, as OpenAI's clients send it. What is to be made of the parts is in the upload's id, so nothing is
 * kept but the parts. Source: OpenAI API reference, "Uploads".
 */
import type { z } from 'zod'
import { readFileId, shownFileId } from '../../core/file-id.ts'
import { isObject, parseJson } from '../../core/json-body.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { takeTurn } from '../../gateway/enter/key-turn.ts'
import { takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { json } from '../answer/reply.ts'
import { bodyPieces } from '../request/body-pieces.ts'
import { A_FILE, callerOf, keeperOf } from '../request/caller.ts'
import { boundaryOf, formParts } from '../request/form-parts.ts'
import { NO_BOUNDARY } from '../request/read-form.ts'
import { withBody } from '../request/with-body.ts'
import type { Handler, HttpCall, Route } from '../route/route.ts'
import { upload, uploadComplete, uploadCreate, uploadPart } from '../schema/uploads.ts'
import { bytesOfParts, endParts, keepPart, newSession, PART_LIFE_MS, partsOf } from './file-parts.ts'
import { counted, FORM_BYTES, noteOf, openaiFile, stored, uploadsOf } from './files.ts'

type Plan = {
  readonly session: string
  readonly filename: string
  readonly purpose: string
  readonly bytes: number
}

const ID = /^upload_([0-9a-f]{32})_([\w-]{1,2000})$/

const idOf = ({ session, ...plan }: Plan): string =>
  `upload_${session}_${Buffer.from(JSON.stringify(plan)).toString('base64url')}`

const planOf = ({ params }: HttpCall): Plan => {
  const [, session, written = ''] = ID.exec(params.id ?? '') ?? []
  const plan = parseJson(Buffer.from(written, 'base64url').toString())
  if (session === undefined || !isObject(plan)) throw refuse('not_found', 'There is no upload of this id.')
  return {
    session,
    filename: String(plan.filename),
    purpose: String(plan.purpose),
    bytes: Number(plan.bytes),
  }
}

const shown = (
  { clock }: Gateway,
  plan: Plan,
  status: 'pending' | 'completed' | 'cancelled',
  file?: object,
) => {
  const nowS = Math.floor(clock.now() / 1_000)
  return json({
    id: idOf(plan),
    object: 'upload',
    bytes: plan.bytes,
    created_at: nowS,
    expires_at: nowS + PART_LIFE_MS / 1_000,
    filename: plan.filename,
    purpose: plan.purpose,
    status,
    ...(file === undefined ? {} : { file }),
  })
}

const create = async (
  gateway: Gateway,
  call: HttpCall,
  read: () => Promise<z.infer<typeof uploadCreate>>,
) => {
  const key = await keeperOf(gateway, call, A_FILE)
  const { filename, purpose, bytes } = await read()
  const uploads = uploadsOf(gateway)
  const full = await uploads.full(key.id)
  if (full !== undefined) throw full
  if (bytes > uploads.bytesMax)
    throw invalid('bytes', `'bytes' may be at most ${uploads.bytesMax}: a file may have no more.`)
  const session = newSession(gateway, call)
  return shown(gateway, { session, filename, purpose, bytes }, 'pending')
}

/** A part may come before those that it follows: the client says the order at the end. */
const addPart: Handler = async (gateway, call) => {
  const key = await keeperOf(gateway, call, A_FILE)
  const plan = planOf(call)
  takePlace(gateway.capacity, call.trace.taken)
  await takeTurn(gateway, key, call.trace)
  const boundary = boundaryOf(call.request.headers.get('content-type'))
  if (boundary === undefined) throw refuse('unsupported_media_type', NO_BOUNDARY)
  const { bytesMax } = uploadsOf(gateway)
  const bytes = bodyPieces(gateway, call, bytesMax + FORM_BYTES)
  const take = async () => {
    const first = await formParts(bytes, boundary).next()
    if (first.done === true || first.value.name !== 'data')
      throw invalid('data', "'data' is required: a part of the form with the bytes.")
    const { session } = plan
    const pieces = counted(first.value.pieces, bytesMax)
    const part = await keepPart(gateway, key, call.trace.callId, { session, offset: 0, pieces })
    return json({
      id: `part_${shownFileId(part.id)}`,
      object: 'upload.part',
      created_at: Math.floor(part.createdAt / 1_000),
      upload_id: idOf(plan),
    })
  }
  return stored(gateway, call, () => take().finally(() => bytes.return(undefined)))
}

const complete = async (
  gateway: Gateway,
  call: HttpCall,
  read: () => Promise<z.infer<typeof uploadComplete>>,
) => {
  const key = await keeperOf(gateway, call, A_FILE)
  const plan = planOf(call)
  const { part_ids: ids, md5 } = await read()
  if (md5 !== undefined) throw invalid('md5', "'md5' is not checked here; leave it out.")
  const kept = await partsOf(gateway, key, plan.session)
  const parts = ids.map((id, at) => {
    const part = kept.find((one) => one.id === readFileId(id.replace(/^part_/, '')))
    if (part === undefined) throw invalid(`part_ids[${at}]`, `'part_ids[${at}]' is no part of this upload.`)
    return part
  })
  const size = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  if (size !== plan.bytes)
    throw invalid(
      'part_ids',
      `The parts have ${size} bytes together, and the upload was to have ${plan.bytes}.`,
    )
  const note = noteOf(new Map([['purpose', plan.purpose]]), plan.filename)
  return stored(gateway, call, async () => {
    const file = await uploadsOf(gateway).take({
      keyId: key.id,
      requestId: call.trace.callId,
      pieces: counted(bytesOfParts(gateway, parts), uploadsOf(gateway).bytesMax),
      partBytes: size,
      note: async () => note,
    })
    await endParts(gateway, kept)
    return shown(gateway, plan, 'completed', openaiFile(file))
  })
}

const cancel: Handler = async (gateway, call) => {
  const key = await callerOf(gateway, call)
  const plan = planOf(call)
  await endParts(gateway, await partsOf(gateway, key, plan.session))
  return shown(gateway, plan, 'cancelled')
}

const ofUploads = { method: 'POST', auth: 'bearer', answer: upload } as const

export const uploadRoutes: readonly Route[] = [
  withBody({
    ...ofUploads,
    path: '/v1/uploads',
    summary: "Begins an upload in parts, in the style of OpenAI's clients; its parts are kept for an hour.",
    body: uploadCreate,
    handler: create,
  }),
  {
    ...ofUploads,
    path: '/v1/uploads/:id/parts',
    summary: 'A part of an upload, as a form.',
    answer: uploadPart,
    handler: addPart,
  },
  withBody({
    ...ofUploads,
    path: '/v1/uploads/:id/complete',
    summary: 'Makes a file of the parts, in the order given.',
    body: uploadComplete,
    handler: complete,
  }),
  {
    ...ofUploads,
    path: '/v1/uploads/:id/cancel',
    summary: 'Gives up an upload, and deletes its parts.',
    handler: cancel,
  },
]

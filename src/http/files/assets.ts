/** Assets over HTTP: served as exactly the type they are, to anyone with a signed address or the key. */
import { readName } from '../../assets/address.ts'
import { type Assets, nameOf } from '../../assets/assets.ts'
import { dispositionOf } from '../../assets/kind.ts'
import { concat } from '../../core/json-body.ts'
import { must, refuse } from '../../core/refusal.ts'
import type { Answer } from '../../gateway/parts/answer.ts'
import { takeBytes, takePlace } from '../../gateway/parts/capacity.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { noteKey } from '../../gateway/parts/trace.ts'
import type { Asset } from '../../store/calls/asset-port.ts'
import { json } from '../answer/reply.ts'
import { sendPieces } from '../answer/send-pieces.ts'
import { spanOf } from '../request/byte-range.ts'
import { anyCallerOf } from '../request/caller.ts'
import { readQuery } from '../request/query.ts'
import type { HttpCall } from '../route/route.ts'

const NOTHING = new Uint8Array()
/**
 * Parts up to this size are read before they are sent, so that their length is known; the runtime sends longer ones in
 * chunks.
 */
const WHOLE_BYTES = 1024 ** 2

/** The bytes, or the requested part of them. A disabled key may read them too, because they were paid for. */
export const getAsset = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const assets = assetsOf(gateway)
  const asset = await readable(gateway, assets, call)
  noteKey(call.trace, asset.keyId)
  return sendAsset(gateway, call, asset)
}

/** Sends the bytes; the caller has been checked. */
export const sendAsset = async (gateway: Gateway, call: HttpCall, asset: Asset): Promise<Answer> => {
  const { request, trace } = call
  const assets = assetsOf(gateway)
  const tag = `"${asset.sha256}"`
  const headers = { ...headersOf(asset), etag: tag }
  if (hasTag(request.headers.get('if-none-match'), tag)) return { status: 304, headers, body: NOTHING }
  const unchanged = [null, tag].includes(request.headers.get('if-range'))
  const span = unchanged ? spanOf(request.headers.get('range'), asset.bytes) : undefined
  if (span === 'none')
    return { status: 416, headers: { 'content-range': `bytes */${asset.bytes}` }, body: NOTHING }
  takePlace(gateway.capacity, trace.taken)
  const { first, last } = span ?? { first: 0, last: asset.bytes - 1 }
  const length = last - first + 1
  const whole = length <= WHOLE_BYTES
  if (whole) takeBytes(gateway.capacity, trace.taken, length)
  const opened = await assets.open(asset, { first, last })
  if (opened === undefined) throw over()
  if ('redirect' in opened)
    return {
      status: 302,
      headers: { location: opened.redirect, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' },
      body: NOTHING,
    }
  const part = span === undefined ? {} : { 'content-range': `bytes ${first}-${last}/${asset.bytes}` }
  return {
    status: span === undefined ? 200 : 206,
    headers: { ...headers, ...part, ...(whole ? { 'content-length': String(length) } : {}) },
    body: whole ? await allOf(opened.pieces) : sendPieces(gateway, call, opened.pieces),
  }
}

/** Reads all pieces, and closes the file in any case. */
const allOf = async (pieces: AsyncIterableIterator<Uint8Array>): Promise<Uint8Array> => {
  try {
    return concat(await Array.fromAsync(pieces))
  } finally {
    await pieces.return?.()
  }
}

/** Ends an asset for everybody, including those who have its address. */
export const deleteAsset = async (gateway: Gateway, call: HttpCall): Promise<Answer> => {
  const key = await anyCallerOf(gateway, call)
  const name = call.params.name ?? ''
  // Callers may use its id or its name.
  const id = readName(name.includes('.') ? name : `${name}.any`)?.id
  if (id === undefined || !(await assetsOf(gateway).end(id, key.id))) throw noAsset()
  return json({ id, object: 'asset', deleted: true })
}

/** The asset, if the request may read it. A signature is checked before any other work. */
const readable = async (gateway: Gateway, assets: Assets, call: HttpCall): Promise<Asset> => {
  const query = must(readQuery(call.query, ['exp', 'sig']))
  const [exp, sig] = [query.get('exp'), query.get('sig')]
  const name = call.params.name ?? ''
  const known = readName(name)
  if (sig === undefined && exp === undefined) {
    const key = await anyCallerOf(gateway, call)
    const asset = known === undefined ? undefined : await assets.findFor(known.id, key.id)
    if (asset === undefined || nameOf(asset) !== name) throw noAsset()
    return asset
  }
  const verdict = assets.checkSignature({ name, exp: exp ?? '', sig: sig ?? '' })
  if (known === undefined || verdict === 'forged') throw noAsset()
  if (verdict === 'over') throw over()
  // A signature proves that the asset existed.
  const asset = await assets.find(known.id)
  if (asset === undefined) throw over()
  return asset
}

const headersOf = (asset: Asset): Record<string, string> => ({
  'content-type': asset.mediaType,
  'content-disposition': dispositionOf(asset.mediaType, nameOf(asset)),
  'x-content-type-options': 'nosniff',
  'content-security-policy': "sandbox; default-src 'none'",
  // Pages of other sites may show it: whoever has its address may read it.
  'cross-origin-resource-policy': 'cross-origin',
  'cache-control': 'private, max-age=3600',
  'accept-ranges': 'bytes',
})

const hasTag = (list: string | null, tag: string): boolean =>
  (list ?? '').split(',').some((one) => one.trim().replace(/^W\//, '') === tag)

const assetsOf = ({ assets }: Gateway): Assets => {
  if (assets === undefined) throw noAsset()
  return assets
}

const noAsset = () =>
  refuse(
    'not_found',
    'There is no asset of this name, or it is not yours: ask with its key, or by its whole address with exp and sig.',
  )

const over = () =>
  refuse(
    'asset_expired',
    'The address has expired, or the asset was deleted or is no longer kept (ASSET_DAYS). While it is kept, its key reads it without exp and sig.',
  )

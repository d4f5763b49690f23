/** Pictures and sound of a result as the protocol's own content: an agent may not be able to open their address. */
import { readName } from '../../assets/address.ts'
import { concat, isObject, type JsonObject } from '../../core/json-body.ts'
import { takeBytes } from '../../gateway/parts/capacity.ts'
import type { McpCall } from './context.ts'
import type { Content } from './result.ts'

/** The most bytes of a result that go into it; what does not fit has only its address. */
const INLINE_BYTES = 1024 ** 2

const kindOf = ({ type }: JsonObject): 'image' | 'audio' | undefined =>
  type === 'image' || type === 'audio' ? type : undefined

/**
 * The stored bytes behind an output's address; undefined where they are in a bucket, no longer kept, or cannot be read now:
 * the call was answered and charged, and its address is there.
 */
const bytesAt = async (
  { gateway: { assets, capacity }, call: { trace } }: McpCall,
  url: string,
  most: number,
): Promise<Uint8Array | undefined> => {
  const name = readName(new URL(url, 'http://here').pathname.split('/').at(-1) ?? '')
  try {
    const asset = name === undefined ? undefined : await assets?.find(name.id)
    if (asset === undefined || asset.bytes > most) return undefined
    takeBytes(capacity, trace.taken, asset.bytes)
    const opened = await assets?.open(asset, { first: 0, last: asset.bytes - 1 })
    if (opened === undefined || 'redirect' in opened) return undefined
    return concat(await Array.fromAsync(opened.pieces))
  } catch {
    return undefined
  }
}

/** The pictures and sounds of an answer, as many of the first ones as fit. */
export const inlineOf = async (it: McpCall, body: JsonObject): Promise<readonly Content[]> => {
  const outputs = Array.isArray(body.outputs) ? body.outputs.filter(isObject) : []
  const found: Content[] = []
  let left = INLINE_BYTES
  for (const output of outputs) {
    const type = kindOf(output)
    if (type === undefined || typeof output.url !== 'string') continue
    const bytes = await bytesAt(it, output.url, left)
    if (bytes === undefined) continue
    left -= bytes.length
    found.push({ type, data: Buffer.from(bytes).toString('base64'), mimeType: String(output.media_type) })
  }
  return found
}

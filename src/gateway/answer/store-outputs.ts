/** A vendor's results, stored here in order, and counted if the vendor did not count them. */
import type { Assets, StoredAsset } from '../../assets/assets.ts'
import type { From } from '../../assets/take.ts'
import type { Priced } from '../../core/model.ts'
import { type Refusal, unavailable } from '../../core/refusal.ts'
import type { Usage } from '../../core/usage.ts'
import type { Done, Output } from '../../media/shape.ts'
import { STORELESS } from '../enter/conditions.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Task } from '../parts/task.ts'
import type { ShownOutput } from './media-results.ts'

/** The 503 for a call whose results could not be stored; checked before the vendor is asked. */
export const storageRefusal = async (
  { assets }: Pick<Gateway, 'assets'>,
  { model }: Pick<Task, 'model'>,
): Promise<Refusal | undefined> => {
  if (STORELESS.includes(model.product?.category)) return undefined
  return assets === undefined ? unavailable('Results cannot be kept here.') : assets.full()
}

type Storing = {
  readonly keyId: string
  readonly runId: string
  readonly outputs: readonly Output[]
  /** What the vendor counted, and the most that may be charged. */
  readonly measured: Usage | undefined
  readonly most: Usage
  /** Whether the answer contains the results' own bytes. */
  readonly needsBytes: boolean
  /** The vendor's key, for an address that its shape marks; undefined if the key must not go there. */
  readonly credentialFor?: (url: string) => Promise<Extract<From, { url: string }>['credential']>
}

/**
 * Stores the results. Those stored already are returned as they are, without reading anything. Throws as `Assets.keep`
 * does.
 */
export const storeOutputs = async (assets: Assets | undefined, it: Storing) => {
  const { keyId, runId } = it
  const shown: ShownOutput[] = []
  const bytes: Uint8Array[] = []
  const probe = newProbe(assets, it)
  for (const [index, output] of it.outputs.entries())
    if (output.type === 'text' || output.type === 'json') shown.push(output)
    else {
      if (assets === undefined) throw unavailable('Results cannot be kept here.')
      const from = await fromOf(output, it)
      const asset = await assets.keep({ keyId, runId, index, type: output.type, from })
      shown.push(asset)
      await probe.look(asset)
      if (it.needsBytes) bytes.push(await assets.bytes(asset.id))
    }
  return { shown, bytes, lengths: probe.lengths() }
}

/** Video and audio are charged by length. */
const CLASSES = { video: 'video_ms', audio: 'audio_ms' } as const

/**
 * Measures the length of results that are charged by length, if the vendor does not report it. If one cannot be
 * measured, there is no length.
 */
const newProbe = (assets: Assets | undefined, { measured, most }: Pick<Storing, 'measured' | 'most'>) => {
  let found: Usage | undefined
  let known = true
  const look = async ({ id, type }: StoredAsset): Promise<void> => {
    if (type !== 'video' && type !== 'audio') return
    const length = CLASSES[type]
    if (measured !== undefined || most[length] === undefined || !known) return
    const ms = await assets?.lengthMs(id)
    if (ms === undefined) known = false
    else found = { ...found, [length]: (found?.[length] ?? 0) + ms }
  }
  return { look, lengths: () => (known ? found : undefined) }
}

const fromOf = async (
  { from }: Extract<Output, { from: object }>,
  { credentialFor }: Storing,
): Promise<From> => {
  if (!('url' in from)) return from
  const credential = from.withKey === true ? await credentialFor?.(from.url) : undefined
  return credential === undefined ? { url: from.url } : { url: from.url, credential }
}

/** The units that the vendor counted; else the number or length of its outputs; else the maximum. */
export const measuredOf = (
  { measured, outputs }: Pick<Done, 'measured' | 'outputs'>,
  { most }: Pick<Priced, 'most'>,
  lengths: Usage | undefined,
): Usage => {
  if (measured !== undefined) return measured
  const { image, video_ms: video, audio_ms: audio } = most
  const pictures = outputs.filter(({ type }) => type === 'image').length
  return {
    ...most,
    ...(image === undefined ? {} : { image: Math.min(image, pictures) }),
    ...(video === undefined ? {} : { video_ms: Math.min(video, lengths?.video_ms ?? video) }),
    ...(audio === undefined ? {} : { audio_ms: Math.min(audio, lengths?.audio_ms ?? audio) }),
  }
}

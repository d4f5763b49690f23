/** `export:` of turnpike.yaml: where calls and events are exported to, for systems that keep them elsewhere. */
import { z } from 'zod'
import { Secret } from '../../core/secret.ts'
import type { SinkSettings } from '../../export/sinks.ts'
import { bad } from '../../settings/bad-setting.ts'
import { bucketNamed } from './bucket-name.ts'

export const exportShape = z.strictObject({
  to: z.string().min(1).optional(),
  events: z.string().min(1).optional(),
  every_seconds: z.int().min(1).max(3_600).optional(),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), z.string())
    .optional(),
  endpoint: z.string().optional(),
  region: z.string().optional(),
  key_id: z.string().optional(),
  secret: z.string().optional(),
})

type Exported = { readonly sink: SinkSettings; readonly everyMs: number }
/** Where each kind goes, if anywhere. */
export type ExportConfig = { readonly calls: Exported | undefined; readonly events: Exported | undefined }

const SECOND_MS = 1_000
const EVERY_S = 5
/** Each batch is an object of its own. */
const BUCKET_EVERY_S = 60

/** Throws BadSetting. */
export const exportConfigOf = (it: z.infer<typeof exportShape>): ExportConfig => {
  const { to, events } = it
  if (to === undefined && events === undefined)
    return bad('export: needs to (for calls), events, or both: a path, https://… or s3://…')
  if (to === events) return bad('export.events must be another place than export.to')
  return { calls: placeOf('to', to, it), events: placeOf('events', events, it) }
}

const placeOf = (name: string, to: string | undefined, it: z.infer<typeof exportShape>) => {
  if (to === undefined) return undefined
  const sink = sinkSettingsOf(name, to, it)
  const seconds = it.every_seconds ?? ('bucket' in sink ? BUCKET_EVERY_S : EVERY_S)
  return { sink, everyMs: seconds * SECOND_MS }
}

const sinkSettingsOf = (
  name: string,
  to: string,
  { headers = {}, endpoint, region, key_id, secret }: z.infer<typeof exportShape>,
): SinkSettings => {
  const named = bucketNamed(to)
  if (named !== undefined)
    return key_id === undefined || secret === undefined
      ? bad('export: s3://… needs key_id and secret')
      : { bucket: { ...named, endpoint, region, keyId: key_id, secret: new Secret(secret) } }
  if (/^https:\/\/|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(to)) return { url: to, headers }
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(to)
    ? bad(`export.${name} must be a path, https://… or s3://…, not '${to}'`)
    : { file: to }
}

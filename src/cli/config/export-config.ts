/** `export:` of turnpike.yaml: where calls are exported to, for systems that store calls elsewhere. */
import { z } from 'zod'
import { Secret } from '../../core/secret.ts'
import type { SinkSettings } from '../../export/sinks.ts'
import { bad } from '../../settings/bad-setting.ts'
import { bucketNamed } from './bucket-name.ts'

export const exportShape = z.strictObject({
  to: z.string().min(1),
  every_seconds: z.int().min(1).max(3_600).optional(),
  headers: z
    .record(z.string().regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header'), z.string())
    .optional(),
  endpoint: z.string().optional(),
  region: z.string().optional(),
  key_id: z.string().optional(),
  secret: z.string().optional(),
})

export type ExportConfig = { readonly sink: SinkSettings; readonly everyMs: number }

const SECOND_MS = 1_000
const EVERY_S = 5
/** Each batch is an object of its own. */
const BUCKET_EVERY_S = 60

/** Throws BadSetting. */
export const exportConfigOf = (it: z.infer<typeof exportShape>): ExportConfig => {
  const sink = sinkSettingsOf(it)
  const seconds = it.every_seconds ?? ('bucket' in sink ? BUCKET_EVERY_S : EVERY_S)
  return { sink, everyMs: seconds * SECOND_MS }
}

const sinkSettingsOf = ({
  to,
  headers = {},
  endpoint,
  region,
  key_id,
  secret,
}: z.infer<typeof exportShape>): SinkSettings => {
  const named = bucketNamed(to)
  if (named !== undefined)
    return key_id === undefined || secret === undefined
      ? bad('export: s3://… needs key_id and secret')
      : { bucket: { ...named, endpoint, region, keyId: key_id, secret: new Secret(secret) } }
  if (/^https:\/\/|^http:\/\/(localhost|127\.0\.0\.1|\[::1\])[:/]/.test(to)) return { url: to, headers }
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(to)
    ? bad(`export.to must be a path, https://… or s3://…, not '${to}'`)
    : { file: to }
}

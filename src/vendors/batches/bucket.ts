/**
 * A bucket of the operator's that a vendor's batches read and write: Amazon's S3 or Google Cloud Storage, as requests. Sources:
 * Amazon S3 API reference, "PutObject", "ListObjectsV2", "GetObject", "DeleteObject"; Cloud Storage JSON API, "Objects".
 */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import type { Outgoing, VendorAnswer } from '../../media/shape.ts'

/** A name in a bucket: of an object, or what all names of a folder begin with. */
type InBucket = { readonly bucket: string; readonly name: string }

/** What a protocol of buckets can do. A list has one page: a part has a handful of objects. */
export type BucketProtocol = {
  readonly scheme: 's3' | 'gs'
  readonly put: (at: InBucket, bytes: Uint8Array) => Outgoing
  readonly list: (at: InBucket) => Outgoing
  /** Undefined for an answer that is no list. */
  readonly listed: (answer: VendorAnswer) => readonly InBucket[] | undefined
  readonly get: (at: InBucket) => Outgoing
  readonly remove: (at: InBucket) => Outgoing
}

const LINES = 'application/jsonl'

/** `s3://bucket/a/b` as a place; undefined for anything else. */
export const placeNamed = ({ scheme }: BucketProtocol, uri: unknown): InBucket | undefined => {
  const [, found, bucket, name = ''] =
    (typeof uri === 'string' && /^(s3|gs):\/\/([^/]+)\/?(.*)$/.exec(uri)) || []
  return bucket === undefined || found !== scheme ? undefined : { bucket, name }
}

const escaped = (name: string): string => name.split('/').map(encodeURIComponent).join('/')
const pathOf = ({ bucket, name }: InBucket): string => `/${bucket}/${escaped(name)}`

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const decoder = new TextDecoder()

/** The texts of all elements of this name. */
const elements = (xml: string, name: string): readonly string[] =>
  [...xml.matchAll(new RegExp(`<${name}>([^<]*)</${name}>`, 'g'))].map(([, text = '']) =>
    text.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => entities[entity] ?? ''),
  )

/** Addressed by path, so that a bucket with dots in its name has a certificate. */
export const s3: BucketProtocol = {
  scheme: 's3',
  put: (at, bytes) => ({
    ...{ method: 'PUT', path: pathOf(at), inBucket: true },
    body: { raw: { bytes, mediaType: LINES } },
  }),
  list: ({ bucket, name }) => ({
    ...{ method: 'GET', path: `/${bucket}`, inBucket: true },
    query: { 'list-type': '2', prefix: name },
  }),
  listed: ({ status, bytes }) => {
    const xml = decoder.decode(bytes)
    const [bucket] = elements(xml, 'Name')
    if (status !== 200 || bucket === undefined) return undefined
    return elements(xml, 'Key').map((name) => ({ bucket, name }))
  },
  get: (at) => ({ method: 'GET', path: pathOf(at), inBucket: true }),
  remove: (at) => ({ method: 'DELETE', path: pathOf(at), inBucket: true }),
}

const objects = (bucket: string): string => `/storage/v1/b/${bucket}/o`
const objectOf = ({ bucket, name }: InBucket): string => `${objects(bucket)}/${encodeURIComponent(name)}`

export const cloudStorage: BucketProtocol = {
  scheme: 'gs',
  put: ({ bucket, name }, bytes) => ({
    ...{ method: 'POST', path: `/upload${objects(bucket)}`, inBucket: true },
    query: { uploadType: 'media', name },
    body: { raw: { bytes, mediaType: LINES } },
  }),
  list: ({ bucket, name }) => ({
    ...{ method: 'GET', path: objects(bucket), inBucket: true },
    query: { prefix: name },
  }),
  listed: ({ status, json }) => {
    if (status !== 200 || !isObject(json)) return undefined
    const items = Array.isArray(json.items) ? json.items : []
    return items
      .filter((item): item is JsonObject => isObject(item))
      .flatMap(({ bucket, name }) =>
        typeof bucket === 'string' && typeof name === 'string' ? [{ bucket, name }] : [],
      )
  },
  get: (at) => ({ method: 'GET', path: objectOf(at), query: { alt: 'media' }, inBucket: true }),
  remove: (at) => ({ method: 'DELETE', path: objectOf(at), inBucket: true }),
}

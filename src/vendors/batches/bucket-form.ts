/** What batches that read and write a bucket have in common: a part has a folder there, with its lines and what comes of them. */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { must, refuse } from '../../core/refusal.ts'
import { postJson } from '../../media/post-json.ts'
import { objectOf } from '../../media/read-answer.ts'
import { type BucketProtocol, placeNamed } from './bucket.ts'
import { type EndedPart, type NewPart, usualPart, type VendorBatchForm } from './vendor-batch.ts'

/** The names of one vendor. */
type Names = Pick<VendorBatchForm, 'callsLeast' | 'takes' | 'readResult' | 'cancel'> & {
  readonly storage: BucketProtocol
  /** The lines of a part, as they stand in its file. */
  readonly lines: (part: NewPart) => Uint8Array
  /** Where jobs are made, and found by our id. */
  readonly jobs: string
  readonly newest: (id: string) => { readonly path: string; readonly query: Readonly<Record<string, string>> }
  readonly create: (part: NewPart, place: { readonly input: string; readonly output: string }) => JsonObject
  /** The vendor's name of the job in an answer that is about one. */
  readonly named: (job: JsonObject) => string | undefined
  /** The jobs in an answer to `newest`, and which of them is ours. */
  readonly listed: (answer: JsonObject) => unknown
  readonly isOurs: (job: JsonObject, id: string) => boolean
  readonly state: (job: JsonObject) => unknown
  /** States in which a job has ended. */
  readonly ended: readonly string[]
  /** Where a job writes, as it says itself. */
  readonly output: (job: JsonObject) => unknown
  /** Whether an object of this name has results. */
  readonly isResult: (name: string) => boolean
}

/** A member of a member. */
export const within = (value: unknown, ...names: readonly string[]): unknown =>
  names.reduce((one: unknown, name) => (isObject(one) ? one[name] : undefined), value)

/** The folder of a part, with its slash. */
const folderOf = ({ id, bucket }: Pick<NewPart, 'id' | 'bucket'>): string =>
  `${(bucket?.uri ?? '').replace(/\/$/, '')}/${id}/`
const NONE: EndedPart = { files: [], lines: [] }

export const bucketForm = (names: Names): VendorBatchForm => {
  const { storage, jobs } = names
  const at = (uri: unknown) =>
    must(placeNamed(storage, uri) ?? refuse('upstream_error', 'The batches of this model have no bucket.'))
  const inputOf = (part: NewPart): string => `${folderOf(part)}lines.jsonl`
  return {
    ...usualPart,
    ...(names.callsLeast === undefined ? {} : { callsLeast: names.callsLeast }),
    takes: names.takes,
    submit: (part) => storage.put(at(inputOf(part)), names.lines(part)),
    readSubmitted: (answer, part, step) => {
      if (answer.status < 200 || answer.status >= 300) return undefined
      if (step > 0) return names.named(objectOf(answer) ?? {})
      const place = { input: inputOf(part), output: `${folderOf(part)}out/` }
      return { next: postJson(jobs, names.create(part, place)) }
    },
    newest: ({ id }) => ({ method: 'GET', ...names.newest(id) }),
    found: (answer, id) => {
      const all = names.listed(objectOf(answer) ?? {})
      const one = (Array.isArray(all) ? all : []).find((job) => isObject(job) && names.isOurs(job, id))
      return one && names.named(one)
    },
    poll: (ref) => ({ method: 'GET', path: `${jobs}/${ref}` }),
    readPoll: (answer) => {
      const job = objectOf(answer) ?? {}
      const state = names.state(job)
      if (typeof state !== 'string') return undefined
      if (!names.ended.includes(state)) return 'running'
      const place = placeNamed(storage, names.output(job))
      return place === undefined ? NONE : { next: storage.list(place) }
    },
    readPlaces: (answer) => {
      const files = storage.listed(answer)?.filter(({ name }) => names.isResult(name))
      return files && { files: files.map(storage.get), lines: [] }
    },
    readResult: names.readResult,
    cancel: names.cancel,
    // A job is refused for what it is, never for one of its lines.
    refusesParts: true,
    stored: (part) => storage.list(at(folderOf(part))),
    removals: (answer) => storage.listed(answer)?.map(storage.remove),
  }
}

/** Batches whose lines come with the request, and whose results go out with an answer: both are files of Turnpike's own. */
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, Refusal, refuse } from '../../core/refusal.ts'
import { createBatch } from '../../gateway/batches/create-batch.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Trace } from '../../gateway/parts/trace.ts'
import type { Batch } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { assetsOf } from './named-batch.ts'

const PART_BYTES = 256 * 1024
const WRITTEN_TOGETHER = 100
/** The lines are kept somewhat longer than they may wait; a batch that begins keeps them as long as it needs them. */
const INPUT_MS = 3_600_000

async function* linesOf(
  requests: readonly JsonObject[],
  digest: Bun.CryptoHasher,
): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < requests.length; at += WRITTEN_TOGETHER) {
    const lines = requests.slice(at, at + WRITTEN_TOGETHER).map((one) => `${JSON.stringify(one)}\n`)
    const piece = Buffer.from(lines.join(''))
    digest.update(piece)
    yield piece
  }
}

/** Writes the requests as the lines of a file, and says which they are. Throws the Refusal of a key whose files are full. */
export const keepLines = async (
  gateway: Gateway,
  { key, trace }: { readonly key: Key; readonly trace: Trace },
  requests: readonly JsonObject[],
) => {
  const { uploads } = assetsOf(gateway)
  const full = await uploads.full(key.id)
  if (full !== undefined) throw full
  const at = { keyId: key.id, runId: trace.callId, place: 0, lifeMs: INPUT_MS }
  const digest = new Bun.CryptoHasher('sha256')
  const input = await uploads.keep({ ...at, pieces: linesOf(requests, digest) })
  return { input, lines: digest.digest('base64url') }
}

/** Codes of a batch that was not begun, so that nobody reads its lines. */
const NOT_BEGUN: readonly string[] = ['idempotency_in_progress', 'idempotency_key_reused', 'too_many_batches']

/** Begins the batch of lines that are kept for it alone; where a repeat found its batch, or was refused, they go again. */
export const beginWith = async (
  gateway: Gateway,
  made: Parameters<typeof createBatch>[1],
): Promise<Batch> => {
  const { input, key } = made
  const end = () =>
    assetsOf(gateway)
      .end(input.id, key.id)
      .catch(() => undefined)
  const batch = await createBatch(gateway, made).catch(async (thrown: unknown) => {
    if (thrown instanceof Refusal && NOT_BEGUN.includes(thrown.code)) await end()
    throw thrown
  })
  if (batch.input !== input.id) await end()
  return batch
}

/** The results, in pieces of whole bytes, each time they are asked for. Throws the Refusal of those that are not there. */
export const resultsOf = async (
  gateway: Gateway,
  batch: Batch,
): Promise<() => AsyncGenerator<Uint8Array, void, undefined>> => {
  const { find, uploads } = assetsOf(gateway)
  const file = batch.output === undefined ? undefined : await find(batch.output)
  if (file === undefined)
    throw refuse('not_found', 'The batch has not ended, or its results are no longer kept (BATCH_DAYS).')
  const { id, bytes } = file
  return async function* () {
    for (let first = 0; first < bytes; first += PART_BYTES) {
      const read = await uploads.part(id, { first, last: Math.min(first + PART_BYTES, bytes) - 1 })
      if (read === undefined) throw new Error('the results of a batch are gone')
      yield read
    }
  }
}

/** Deletes a batch that has ended, with its lines and results. */
export const deleteNamed = async (gateway: Gateway, batch: Batch): Promise<void> => {
  if (!(await gateway.store.batches.remove(batch.id)))
    throw invalid('id', 'The batch has not ended; cancel it first, and delete it when it has ended.')
  for (const file of [batch.input, batch.output])
    if (file !== undefined) await assetsOf(gateway).end(file, batch.keyId)
}

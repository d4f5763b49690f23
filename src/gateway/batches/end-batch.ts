/** The end of a batch: all money goes back, the results are written into files, and whoever waits for it hears. */
import type { Assets } from '../../assets/assets.ts'
import type { Batch, LineResult } from '../../store/batches/batch-port.ts'
import type { Gateway } from '../parts/gateway.ts'
import { type BehindCalls, behindCalls } from './behind-calls.ts'
import { forms } from './forms.ts'

const PLACES = { output: 1, errors: 2 } as const
type File = keyof typeof PLACES

const encoder = new TextEncoder()

/** Which file a line is for. */
const fileOf = ({ form }: Batch, { state }: LineResult): File =>
  forms[form].splits && state !== 'succeeded' ? 'errors' : 'output'

/** The lines of one file. Line breaks inside an answer become spaces: they can only stand between its values. */
async function* piecesOf(
  { store }: Gateway,
  { batch, behind, file }: { readonly batch: Batch; readonly behind: BehindCalls; readonly file: File },
): AsyncGenerator<Uint8Array> {
  const { written } = forms[batch.form]
  for (let after = 0; ; ) {
    await behind.step()
    const most = behind.writes()
    const lines = await store.batches.results(batch.id, after, most)
    const texts = lines
      .filter((line) => fileOf(batch, line) === file)
      .map((line) => `${written(line).replaceAll(/[\r\n]+/g, ' ')}\n`)
    if (texts.length > 0) yield encoder.encode(texts.join(''))
    if (lines.length < most) return
    after = lines.at(-1)?.n ?? 0
  }
}

/** Writes the files of a batch whose money is back, and ends it. What fails is done again by whoever owns it then. */
export const endBatch = async (gateway: Gateway, assets: Assets, batch: Batch): Promise<void> => {
  const { store, options, log } = gateway
  const behind = behindCalls(gateway)
  const keptMs = options.batchKeptMs
  const fileFor = async (file: File, lines: number): Promise<string | undefined> => {
    if (lines === 0) return undefined
    const { id, keyId } = batch
    const note = { purpose: 'batch_output', name: `batch_${id}_${file}.jsonl` }
    const pieces = piecesOf(gateway, { batch, behind, file })
    const at = { keyId, runId: id, place: PLACES[file], pieces, lifeMs: keptMs }
    return (await assets.uploads.keep({ ...at, ...(batch.form === 'openai' ? { note } : {}) })).id
  }
  const failed = batch.errored + batch.stopped
  const { splits } = forms[batch.form]
  const output = await fileFor('output', splits ? batch.succeeded : batch.total)
  const errors = await fileFor('errors', splits ? failed : 0)
  await store.batches.finish(batch.id, { output, errors, keptMs })
  // If it dies before it has forgotten all results, they go with the batch.
  for (let after: number | undefined = 0; after !== undefined; ) {
    await behind.step()
    after = await store.batches.forget(batch.id, after, behind.writes())
  }
  log.info('a batch ended', { call: batch.id, ops: batch.total, charged: batch.charged })
}

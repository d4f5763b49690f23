/** Reads the results of a part, line by line, and ends each line of ours once; whatever else is in them is left out. */

import { isObject, type JsonObject, parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { vendorDown } from '../../routing/vendor-errors.ts'
import type { SentLine } from '../../store/batches/batch-port.ts'
import type { Key } from '../../tenancy/key.ts'
import { VendorFault } from '../../transport/vendor-fault.ts'
import type { EndedPart, PartResult } from '../../vendors/batches/vendor-batch.ts'
import { beginStep } from '../jobs/vendor-step.ts'
import { newTaken } from '../parts/capacity.ts'
import type { Gateway } from '../parts/gateway.ts'
import { type AskedPart, stepOf } from './ask-part.ts'
import { endOf, runLine } from './run-line.ts'
import type { Working } from './working.ts'

/** Lines that end at once. */
const AT_ONCE = 32
const LINE_BYTES_MAX = 64 * 1024 * 1024
const NEW_LINE = 10

/**
 * `all`: each line has ended. `some`: lines are without a result. `later`: a line could not end, and is to be read again.
 * Throws VendorFault when the results break off.
 */
export const readResults = async (
  gateway: Gateway,
  { form, at, it, part }: AskedPart,
  ended: EndedPart,
): Promise<'all' | 'some' | 'later'> => {
  const open = new Map((await gateway.store.batches.partLines(part.id)).map((line) => [line.callId, line]))
  const key = await payerOf(gateway, it)
  const busy = new Set<Promise<void>>()
  let again = false
  try {
    for await (const json of resultsIn(gateway, { at, part }, ended)) {
      const result = form.readResult(json)
      const line = result && open.get(result.id)
      // A repeat, or nobody asked for it.
      if (result === undefined || line === undefined) continue
      open.delete(result.id)
      const ending = endAs(gateway, { at, it, part, key }, line, result)
        .catch((error: unknown) => {
          again = true
          gateway.log.warn('a line of a batch could not end', { call: line.callId, error: messageOf(error) })
        })
        .finally(() => busy.delete(ending))
      busy.add(ending)
      if (busy.size >= AT_ONCE) await Promise.race(busy)
    }
  } finally {
    await Promise.all(busy)
  }
  return again ? 'later' : open.size > 0 ? 'some' : 'all'
}

/** Whose lines they are. A key that may not call any more is charged for what was sent while it might. */
const payerOf = async ({ store, book }: Gateway, { batch: { keyId } }: Working): Promise<Key> => {
  const key = await store.keys.key(keyId)
  if (key === undefined) throw new Error('the key of the batch is unknown')
  const terms = await book.termsOf(keyId)
  return terms === undefined ? key : { ...key, terms }
}

type Ending = Pick<AskedPart, 'at' | 'it' | 'part'> & { readonly key: Key }

const endAs = async (
  gateway: Gateway,
  { at, it, part, key }: Ending,
  line: SentLine,
  result: PartResult,
): Promise<void> => {
  const { n, callId } = line
  if ('status' in result)
    await runLine(
      gateway,
      { batch: it.batch, key, line, read: it.readOne, answered: { result, at } },
      it.endLine,
    )
  // In a batch that was stopped it is not sent again, and nothing is charged.
  else if (it.batch.stop !== undefined) await it.endLine({ n, callId, state: 'waiting', pauseMs: 0 })
  // Its vendor may say the same of it each time.
  else await it.endLine(endOf(vendorDown(at.setup.vendor.id, undefined), line, part.againMs))
}

async function* resultsIn(
  gateway: Gateway,
  { at, part }: Pick<AskedPart, 'at' | 'part'>,
  { files, lines }: EndedPart,
): AsyncGenerator<JsonObject> {
  yield* lines
  for (const file of files) {
    const answer = await beginStep(gateway, stepOf({ at, part }, newTaken('')), file)
    try {
      if (answer.status !== 200)
        throw new VendorFault('body', `the vendor answered ${answer.status} instead of results`)
      for await (const text of textLines(() => answer.next())) {
        const json = parseJson(text)
        if (isObject(json)) yield json
      }
    } finally {
      answer.abort()
    }
  }
}

/** The lines of a body that comes in pieces. */
async function* textLines(next: () => Promise<Uint8Array | undefined>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest: Uint8Array[] = []
  let size = 0
  const taken = (): string => {
    const text = decoder.decode(Buffer.concat(rest))
    rest = []
    size = 0
    return text
  }
  for (let piece = await next(); piece !== undefined; piece = await next()) {
    let from = 0
    for (let end = piece.indexOf(NEW_LINE); end >= 0; end = piece.indexOf(NEW_LINE, from)) {
      rest.push(piece.subarray(from, end))
      yield taken()
      from = end + 1
    }
    rest.push(piece.subarray(from))
    size += piece.length - from
    if (size > LINE_BYTES_MAX) throw new VendorFault('body', 'a result of more than 64 MB')
  }
  if (size > 0) yield taken()
}

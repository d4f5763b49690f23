/** Where calls and events are exported to: a file, an HTTPS endpoint, or a bucket that speaks S3's protocol. */
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type BucketSettings, openBucket } from '../assets/bucket.ts'

/** A batch of lines, named by its first: a batch that is sent again has the same name. */
export type Batch = { readonly lines: string; readonly first: string; readonly at: number }

/** The batch is larger than what is taken there. */
export class TooLarge extends Error {}

/** Resolves when the lines are stored durably there. Throws TooLarge where fewer of them might be. */
export type Sink = (batch: Batch) => Promise<void>

export type SinkSettings =
  | { readonly file: string }
  | { readonly url: string; readonly headers: Readonly<Record<string, string>> }
  | { readonly bucket: BucketSettings }

const ANSWER_MS = 30_000
const OWNER_ONLY = 0o600
/** While a file ends within a line we look again: another process may be writing it. */
const LOOKS = 10
const LOOK_MS = 20

/** Makes the sink. Nothing is opened or contacted before the first batch. */
export const sinkOf = (settings: SinkSettings): Sink => {
  if ('file' in settings) return fileSink(settings.file)
  return 'url' in settings ? endpointSink(settings.url, settings.headers) : bucketSink(settings.bucket)
}

/** Opened for each batch, so that the file may be rotated. */
const fileSink =
  (path: string): Sink =>
  async ({ lines }) => {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(path, 'a+', OWNER_ONLY)
    try {
      // A crash can leave half a line, so a repeated batch begins on a line of its own.
      await file.appendFile((await endsInLine(file)) ? `\n${lines}` : lines)
      await file.sync()
    } finally {
      await file.close()
    }
  }

/** Whether the file ends within a line, and no other process is writing the rest of it. */
const endsInLine = async (file: FileHandle): Promise<boolean> => {
  let before = -1
  for (let look = 0; look < LOOKS; look++) {
    const { size } = await file.stat()
    const last = Buffer.alloc(1, '\n')
    if (size > 0) await file.read(last, 0, 1, size - 1)
    if (last.toString() === '\n') return false
    if (size === before) return true
    before = size
    await Bun.sleep(LOOK_MS)
  }
  return true
}

const endpointSink =
  (url: string, headers: Readonly<Record<string, string>>): Sink =>
  async ({ lines }) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson', ...headers },
      body: lines,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    })
    await answer.body?.cancel()
    if (answer.status === 413) throw new TooLarge('the endpoint answered 413: it takes no batch of that size')
    if (!answer.ok) throw new Error(`the endpoint answered ${answer.status}`)
  }

const bucketSink = (settings: BucketSettings): Sink => {
  const bucket = openBucket(settings)
  const encoder = new TextEncoder()
  return async ({ lines, first, at }) => {
    const name = `${new Date(at).toISOString().slice(0, 10)}/${first}.jsonl`
    await bucket.write(name, oneOf(encoder.encode(lines)), {
      mediaType: 'application/x-ndjson',
      disposition: 'attachment',
    })
  }
}

async function* oneOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

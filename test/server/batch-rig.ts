/** Batches for tests: a server with files, the official client, and the words of a batch. */
import type OpenAI from 'openai'
import { toFile } from 'openai'
import { until } from '../until.ts'
import { type AssetServer, startAssetServer } from './asset-rig.ts'
import { clientOf } from './official-client.ts'

export const chatLine = (n: number, more: object = {}, model = 'mock/small') => ({
  custom_id: `line-${n}`,
  method: 'POST',
  url: '/v1/chat/completions',
  body: { model, messages: [{ role: 'user', content: `say ${n}` }], max_tokens: 100, ...more },
})

export const jsonLines = (lines: readonly unknown[]): string =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')

export type BatchServer = AssetServer & {
  client(token: string): OpenAI
  upload(token: string, lines: readonly unknown[], purpose?: 'batch' | 'user_data'): Promise<string>
  /** Waits until it has ended, and returns it. */
  ended(token: string, id: string): Promise<OpenAI.Batch>
  /** The lines of a file by their custom_id. */
  results(token: string, file: string | null | undefined): Promise<Map<string, any>>
}

export const startBatchServer = async (
  setup: Parameters<typeof startAssetServer>[0],
): Promise<BatchServer> => {
  const server = await startAssetServer(setup)
  const client = (token: string) => clientOf(server, token)
  return {
    ...server,
    client,
    upload: async (token, lines, purpose = 'batch') => {
      const file = await toFile(Buffer.from(jsonLines(lines)), 'lines.jsonl')
      return (await client(token).files.create({ file, purpose })).id
    },
    ended: async (token, id) => {
      let batch: OpenAI.Batch | undefined
      await until(async () => {
        batch = await client(token).batches.retrieve(id)
        return ['completed', 'expired', 'cancelled'].includes(batch.status)
      })
      return batch as OpenAI.Batch
    },
    results: async (token, file) => {
      if (typeof file !== 'string') return new Map()
      const text = await (await client(token).files.content(file)).text()
      const lines = text
        .trimEnd()
        .split('\n')
        .map((line): any => JSON.parse(line))
      return new Map(lines.map((line) => [line.custom_id, line]))
    },
  }
}

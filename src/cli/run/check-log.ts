/** A receipt against the log of a server that nobody here trusts: its end goes on from the one that was kept, and has the receipt. */
import type { KeyObject } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'
import type { JsonObject } from '../../core/json-body.ts'
import { LOG_PROMISE_SECONDS, type LogHead, readLogHead } from '../../receipts/log-head.ts'
import { entryHash, receiptText } from '../../receipts/log-leaf.ts'
import { type Hash, provesConsistency, provesInclusion } from '../../receipts/merkle.ts'
import { counted, Failed } from './run-command.ts'

const FETCH_MS = 10_000

const headAnswer = z.object({ head: z.string() })
const proof = z.array(z.string().regex(/^[0-9a-f]{64}$/))
const steadyAnswer = z.object({ proof })
const proofAnswer = z.object({ index: z.int(), salt: z.string(), proof })

const hashes = (list: readonly string[]): Hash[] => list.map((hex) => Buffer.from(hex, 'hex'))

/** What the server answers; undefined if it has nothing there. */
const ask = async <T>(server: string, path: string, schema: z.ZodType<T>): Promise<T | undefined> => {
  const answer = await fetch(new URL(path, server), { signal: AbortSignal.timeout(FETCH_MS) })
  if (answer.status === 404) return undefined
  if (!answer.ok) throw new Failed(`${server} answered ${answer.status} to ${path.split('?')[0]}`)
  return schema.parse(await answer.json())
}

type Checked = { readonly sound: boolean; readonly said: string }

type Brought = {
  readonly token: string
  readonly claims: JsonObject
  readonly keys: ReadonlyMap<string, KeyObject>
  /** The file of the last head. */
  readonly kept: string | undefined
}

/** The head that was kept; undefined before the first one. */
const headIn = async (file: string | undefined, keys: Brought['keys']): Promise<LogHead | undefined> => {
  if (file === undefined || !(await Bun.file(file).exists())) return undefined
  const head = readLogHead((await readFile(file, 'utf8')).trim(), keys)
  if (head === undefined) throw new Failed(`${file} has no end of a log that one of the keys has signed`)
  return head
}

/** Why the log does not go on from the head that was kept; undefined if it does. */
const parting = async (server: string, before: LogHead, head: LogHead): Promise<string | undefined> => {
  if (before.size > head.size || before.began !== head.began)
    return `the log was cut: it had ${counted(before.size, 'entry', 'entries')}, and has ${head.size}`
  const path = `/v1/log/consistency?from=${before.size}&to=${head.size}`
  const steady = await ask(server, path, steadyAnswer)
  return steady !== undefined && provesConsistency(before, head, hashes(steady.proof))
    ? undefined
    : `the log was rewritten or forked before entry ${before.size}`
}

const inclusion = async (server: string, { token, claims }: Brought, head: LogHead): Promise<Checked> => {
  const { iat } = claims
  const found = await ask(server, `/v1/log/proof?receipt=${token}&size=${head.size}`, proofAnswer)
  if (found === undefined) {
    const old = Number(iat) * 1000 > head.began && Number(iat) + LOG_PROMISE_SECONDS < head.at / 1000
    return { sound: !old, said: old ? 'the log lacks the receipt' : 'the log does not have the receipt yet' }
  }
  const leaf = entryHash(found.salt, receiptText(claims))
  const sound = provesInclusion(leaf, { ...head, index: found.index }, hashes(found.proof))
  return {
    sound,
    said: sound ? `entry ${found.index} of the log` : 'the log has another receipt of the call',
  }
}

/** Keeps the new head where all is sound. */
export const checkLog = async (server: string, brought: Brought): Promise<Checked> => {
  const { keys, kept } = brought
  const { head: token = '' } = (await ask(server, '/v1/log/head', headAnswer)) ?? {}
  const head = readLogHead(token, keys)
  if (head === undefined) return { sound: false, said: 'the end of the log is not signed by one of the keys' }
  const before = await headIn(kept, keys)
  const parted = before && (await parting(server, before, head))
  if (parted !== undefined) return { sound: false, said: parted }
  const checked = await inclusion(server, brought, head)
  if (checked.sound && kept !== undefined) await writeFile(kept, `${token}\n`)
  return checked
}

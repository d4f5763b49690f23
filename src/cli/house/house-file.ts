/** The file of `turnpike apply`: organisations with their rules, credit, keys and margins. */
import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { z } from 'zod'
import { readAs } from '../../core/body.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { Refusal } from '../../core/refusal.ts'
import { Failed } from '../run/run-command.ts'

/** Members as the acts take them; each act reads its own, with its own refusals. */
const members = z.record(z.string(), z.unknown()).transform((them) => them as JsonObject)

const organisation = z.strictObject({
  name: z.string(),
  rules: members.optional(),
  credit: members.optional(),
  keys: z.record(z.string(), members).optional(),
  margin_percent: z.number().optional(),
  tenants: z.record(z.string(), z.strictObject({ margin_percent: z.number().nullable() })).optional(),
})
export type WantedOrganisation = z.output<typeof organisation>

const house = z.strictObject({ organisations: z.record(z.string(), organisation) })

/** The organisations of the file, by id. Throws what is wrong with it. */
export const readHouse = async (path: string): Promise<Readonly<Record<string, WantedOrganisation>>> => {
  const cannot = (cause: unknown): never => {
    throw new Failed(`${path} cannot be read: ${messageOf(cause)}`)
  }
  const text = await readFile(path, 'utf8').catch(cannot)
  let value: JsonObject
  try {
    value = parse(text)
  } catch (cause) {
    return cannot(cause)
  }
  const read = readAs(house, value ?? {})
  if (read instanceof Refusal) throw new Failed(`${path}: ${read.message}`)
  return read.organisations
}

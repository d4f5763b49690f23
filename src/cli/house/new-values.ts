/** New values for keys whose old ones only their callers know: kept in a file before the keys are made. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Control } from '../../control/act.ts'
import { messageOf } from '../../core/message-of.ts'
import { newToken, prefixOf } from '../../gateway/parts/new-token.ts'
import { Failed } from '../run/run-command.ts'
import { keepOnce, whyNotKept } from '../run/shown-once.ts'
import { type Imported, sha256 } from './imported.ts'

/**
 * Gives each key without a value one, and adds it to the file, a line each: value, id and label. A run that goes on after
 * one that was broken off takes what the file has; a key that is there already keeps the value that it has.
 */
export const withValues = async (
  { store, options }: Pick<Control, 'store' | 'options'>,
  imported: Imported,
  file: string,
): Promise<Imported> => {
  const why = await whyNotKept(file)
  if (why !== undefined) throw new Failed(`${file} cannot be written: ${messageOf(why)}`)
  const lines = existsSync(file) ? (await readFile(file, 'utf8')).split('\n') : []
  const values = new Map(lines.map((line) => line.split('\t')).map(([value = '', id]) => [id, value]))
  const organisations = Object.entries(imported.organisations)
  const made = await store.keys.keysOf(organisations.flatMap(([, { keys }]) => Object.keys(keys)))
  const there = new Set(made.map(({ id }) => id))
  const added: string[] = []
  const valued = organisations.map(([org, organisation]) => {
    const keys = Object.entries(organisation.keys).map(([id, body]) => {
      if (there.has(id)) return [id, body]
      const value = values.get(id) ?? newToken(options.cell.own)
      if (!values.has(id)) added.push(`${value}\t${id}\t${String(body.label).replaceAll(/\s+/g, ' ')}`)
      return [id, { ...body, value_sha256: sha256(value), value_prefix: prefixOf(value) }]
    })
    return [org, { ...organisation, keys: Object.fromEntries(keys) }]
  })
  // A line that was broken off ends here.
  const before = lines.at(-1) === '' || lines.length === 0 ? [] : ['']
  if (added.length > 0) await keepOnce(file, [...before, ...added])
  return { ...imported, organisations: Object.fromEntries(valued) }
}

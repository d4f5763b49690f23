/** Inputs that name media by a file of ours, or by an address that the product does not take as it is. */

import type { UnreadMedia } from '../../core/call.ts'
import { isFileId } from '../../core/file-id.ts'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import type { MediaInput } from '../../core/model.ts'

const listOf = (value: Json | undefined): readonly Json[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value]

/** The media that must be read for these inputs; none for most calls. */
export const unreadMedia = (
  inputs: Json | undefined,
  media: readonly MediaInput[],
  prefix: string,
): readonly UnreadMedia[] => {
  if (!isObject(inputs)) return []
  return media.flatMap(({ name, takes }) =>
    listOf(inputs[name]).flatMap((address): UnreadMedia[] =>
      typeof address === 'string' && mustBeRead(address, takes)
        ? [{ param: `${prefix}${name}`, address, takes }]
        : [],
    ),
  )
}

const mustBeRead = (address: string, takes: MediaInput['takes']): boolean =>
  isFileId(address) || (/^https:\/\//i.test(address.slice(0, 10)) && !takes(address))

/** The inputs, with each address replaced by what was read there. */
export const withRead = (
  inputs: JsonObject,
  media: readonly MediaInput[],
  read: ReadonlyMap<string, string>,
): JsonObject => {
  const put = (value: Json): Json => (typeof value === 'string' ? (read.get(value) ?? value) : value)
  const changed = media.flatMap(({ name }): [string, Json][] => {
    const value = inputs[name]
    if (value === undefined) return []
    return [[name, Array.isArray(value) ? value.map(put) : put(value)]]
  })
  return { ...inputs, ...Object.fromEntries(changed) }
}

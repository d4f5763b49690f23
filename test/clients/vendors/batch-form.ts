/** What the scripted vendors of batches have in common. */
import { isObject, type Json, type JsonObject, parseJson } from '../../../src/core/json-body.ts'
import type { VendorFetch } from '../../../src/vendors/setup.ts'
import type { VendorRequest } from '../../server/harness.ts'
import { need } from './script.ts'

export type Line = { readonly id: string; readonly path: string; readonly body: JsonObject }

/** A batch as its vendor has it. */
export type Held = {
  readonly id: string
  /** Our name of it, where the vendor keeps one. */
  readonly name: string | undefined
  readonly lines: readonly Line[]
  ended: boolean
  cancelled: boolean
  /** The lines of its results, once it has ended. */
  results: string[]
}

export type BatchVendor = {
  readonly fetch: VendorFetch
  readonly held: Held[]
  /** Each request as method and path; calls outside of batches too. */
  readonly asked: string[]
  /** Changed by tests. */
  readonly how: {
    /** Whether a batch ends when it is next asked for. Cancelled, it always does. */
    ends: boolean
    /** How many lines ran before it was cancelled. */
    ranBefore: number
    /** The results as they are told. */
    tells: (lines: string[]) => string[]
    /** Called once the vendor has a new batch; what it returns is answered in place of the vendor's answer. */
    taken: () => Response | undefined | Promise<undefined>
    /** Answers before anything is read. */
    before: (asked: string) => Response | undefined
  }
}

export type Form = {
  /** A batch out of a request that makes one; undefined for others. */
  readonly made: (
    request: Asked,
    keeps: Map<string, string>,
  ) => Promise<Omit<Held, 'ended' | 'cancelled' | 'results'> | undefined>
  /** Answers what only this vendor has; a request at an address that it signed has the whole address as its path. */
  readonly beside?: (
    request: Asked,
    held: readonly Held[],
  ) => Response | undefined | Promise<Response | undefined>
  /** Writes the results of a batch that has ended, where they are in a bucket. */
  readonly ended?: (held: Held) => Promise<void>
  readonly created: (held: Held) => JsonObject
  readonly createdStatus?: number
  readonly shown: (held: Held) => JsonObject
  readonly listed: (held: readonly Held[]) => Json
  /** Which of the results are in the file at this path; all, where there is one. */
  readonly inFile?: (path: string, results: readonly string[]) => readonly string[]
  /** A line of the results: the vendor's answer, or that it was not run; undefined where nothing is told of such a line. */
  readonly line: (
    line: Line,
    answer: { readonly status: number; readonly body: JsonObject } | undefined,
  ) => JsonObject | undefined
  readonly refuses: (status: number, message: string) => JsonObject
  readonly key: (headers: Headers) => string | null
  readonly run: (request: VendorRequest) => Response
}

export type Asked = {
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: Uint8Array
}

export const unknown = (name: string, at: string) => `Unknown parameter: '${at}.${name}'.`
export const json = (body: Uint8Array): JsonObject => {
  const read = parseJson(new TextDecoder().decode(body))
  need(isObject(read), 'The body is not JSON.')
  return read
}
export const unique = (lines: readonly Line[]): readonly Line[] => {
  need(lines.length > 0, 'The batch is empty.')
  need(new Set(lines.map(({ id }) => id)).size === lines.length, 'A custom_id is not unique.')
  for (const { id } of lines) need(/^[a-zA-Z0-9_-]{1,64}$/.test(id), `custom_id ${id} does not match.`)
  return lines
}

/** An answer that makes no batch. */
export class Answered extends Error {
  readonly body: JsonObject
  constructor(body: JsonObject) {
    super('answered')
    this.body = body
  }
}

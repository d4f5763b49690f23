/** What the harness must know of a client beyond its recipe. */
import type { RunTool } from '../scenario.ts'
import type { Dialect, VendorId } from '../vendor-host.ts'

export type Program = {
  /** The recipe in docs/clients. */
  readonly name: string
  /** Which of several ways to use one recipe's packages. */
  readonly variant?: string
  readonly package: string
  /** Folders below `sets` that pin versions of it, newest first. */
  readonly sets: readonly string[]
  /** The dialect it speaks. */
  readonly speaks: Dialect
  /** The vendors it is tested with: the one that speaks its own dialect first. */
  readonly vendors: readonly VendorId[]
  /** Does $DEED without questions: the prompt is $PROMPT, the model $MODEL. */
  readonly command: string
  /** The tool that runs a command for it. */
  readonly run: RunTool
  /** The script below `drivers` that uses a library as a program of ours would; it is copied beside the library. */
  readonly driver?: string
  /** It pays for its call and brings no key. */
  readonly pays?: true
  /** It keeps one socket for a session of forty turns of tools, each of which brings its new items or all items again. */
  readonly socket?: 'new items' | 'all items'
  /** Hangs up by itself when an answer stalls; others are ended by a signal. */
  readonly hangsUp?: true
  /** The usage that it reports, if it does: tokens of input with those of the cache, and of output. */
  readonly usageOf?: ((out: string) => { readonly input: number; readonly output: number }) | undefined
  /** Removes what it left running. */
  readonly after?: string
  /** What it cannot do by itself, with the reason. */
  readonly cannot?: Partial<Record<Cell, string>>
}

/** The checks of a session. */
export const cells = [
  'text',
  'two tools',
  'tool error',
  'long context',
  'money',
  'bytes',
  'error',
  'hang-up',
] as const
export type Cell = (typeof cells)[number]

export const titleOf = ({ name, variant }: Program): string =>
  variant === undefined ? name : `${name}, ${variant}`

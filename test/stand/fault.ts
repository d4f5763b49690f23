/** One thing that happens to the stand. */
import type { Cell } from './cell.ts'

export type Fault = {
  readonly name: string
  /** The cells whose callers may notice it. */
  readonly cells: readonly Cell[]
  strike(): Promise<void>
  /** Ends it, if it does not end by itself. */
  heal?(): Promise<void>
  /** How long it lasts before that; else as long as the run says. */
  readonly seconds?: number
}

/** The same addresses for an organisation and, for operators, for the house. */
import type { actRows } from '../../../acts.ts'
import { act, type Shown, showing } from '../../parts/api.ts'

export type Of = 'organisation' | 'house'

type Rows = Extract<keyof typeof actRows, `${string} /alert${string}`>
type Input = Readonly<Record<string, unknown>>

/** A row of the house shows what that of an organisation does. */
const rowOf = <Row extends Rows>(of: Of, row: Row): Row =>
  (of === 'house' ? row.replace(' /', ' /operator/') : row) as Row

export const showingOf = <Row extends Rows>(of: Of, row: Row, input: Input = {}, everyMs?: number) =>
  showing(rowOf(of, row), input, everyMs)

export const toAct = <Row extends Rows>(of: Of, row: Row, input: Input = {}): Promise<Shown<Row>> =>
  act(rowOf(of, row), input)

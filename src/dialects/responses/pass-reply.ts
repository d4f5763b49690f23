/**
 * Responses, whole answers to callers of the same dialect: what the vendor sent, with the bill added. Source of the
 * format: OpenAI API reference, "The response object".
 */
import { type Edits, isObject, type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { type Billed, noBalance, withBill } from '../bill-members.ts'
import { objectOf, objectsOf, textOf } from '../request/json-members.ts'
import { keptMembers } from './reply.ts'
import { responsesUsage } from './usage.ts'

/** The answer with `usage.cost` and `usage.cost_details`. */
export const addResponsesBill = (reply: JsonBody, billed: Billed): Uint8Array =>
  splice(reply, { usage: usageText(reply.value, billed), ...keptEdits(billed), ...noBalance })

const keptEdits = ({ kept }: Billed): Edits =>
  Object.fromEntries(Object.entries(keptMembers(kept)).map(([name, value]) => [name, JSON.stringify(value)]))

/** JSON text of a response's usage with the bill; the vendor's own counts if it gave them. */
export const usageText = (response: JsonObject, billed: Billed): string => {
  const reported = isObject(response.usage) ? response.usage : responsesUsage(billed.usage)
  const { cost: _cost, cost_details: _details, ...usage } = reported
  return withBill(usage, billed.bill)
}

/** Whether it is an answer; a failed one is not. */
export const isResponse = (value: JsonObject): boolean =>
  Array.isArray(value.output) && value.status !== 'failed'

/** Letters in an answer's items. */
export const responsesLetters = (response: JsonObject): number =>
  objectsOf(response.output).reduce((sum, item) => sum + itemLetters(item), 0)

/** Letters in one item: what it says, thinks and calls. */
const itemLetters = (item: JsonObject): number => {
  const texts = [...objectsOf(item.content), ...objectsOf(item.summary)].map(
    ({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '',
  )
  const called = [item.name, item.arguments, item.input].map((one) => textOf(one) ?? '')
  const done = item.action ?? item.operation
  return (
    [...texts, ...called].reduce((sum, text) => sum + lettersIn(text), 0) +
    (isObject(done) ? lettersIn(JSON.stringify(objectOf(done))) : 0)
  )
}

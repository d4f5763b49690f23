/** Responses to responses, the answer in one piece: what the vendor sent, with the bill added. Source of the format: OpenAI API reference, "The response object". */
import { type Edits, isObject, type JsonBody, type JsonObject, splice } from '../../core/json-body.ts'
import { lettersIn } from '../../metering/dense-scripts.ts'
import { objectOf, objectsOf, textOf } from '../json-members.ts'
import { noBalance, type Told, withBill } from '../told.ts'
import { keptMembers } from './kept.ts'
import { responsesUsage } from './usage.ts'

/** The answer with `usage.cost` and `usage.cost_details`. */
export const tellResponsesReply = (reply: JsonBody, told: Told): Uint8Array =>
  splice(reply, { usage: usageText(reply.value, told), ...keptEdits(told), ...noBalance })

const keptEdits = ({ kept }: Told): Edits =>
  Object.fromEntries(Object.entries(keptMembers(kept)).map(([name, value]) => [name, JSON.stringify(value)]))

/** JSON text of a response's usage with the bill: the vendor's own counts where it gave them. */
export const usageText = (response: JsonObject, told: Told): string => {
  const reported = isObject(response.usage) ? response.usage : responsesUsage(told.usage)
  const { cost: _cost, cost_details: _details, ...usage } = reported
  return withBill(usage, told.bill)
}

/** Whether it is an answer; one that failed is none. */
export const isResponse = (value: JsonObject): boolean =>
  Array.isArray(value.output) && value.status !== 'failed'

/** Letters of an answer's items. */
export const responsesLetters = (response: JsonObject): number =>
  objectsOf(response.output).reduce((sum, item) => sum + itemLetters(item), 0)

/** Letters of one item: what it says, thinks and calls. */
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

/** Responses: turns a request into a call. */
import type { Call } from '../../core/call.ts'
import type { JsonBody } from '../../core/json-body.ts'
import type { Model } from '../../core/model.ts'
import { invalid, Refusal } from '../../core/refusal.ts'
import { hostedArePriced } from '../../pricing/quote.ts'
import { textOf } from '../request/json-members.ts'
import { readRequest } from '../request/request.ts'
import { SUMMARY_PROMPT } from '../translate/compaction.ts'
import { asksCompaction, withTrigger } from './compaction.ts'
import { forcesHosted, searchesOf } from './own-tools.ts'
import { responsesRequest } from './request.ts'

type ModelNamed = (name: string) => Model | undefined

/** Whether the vendor's search is sold for the model: it has a price, and the model is asked in this dialect. */
const sellsSearch = (model: Model | undefined, searches: number): boolean =>
  (model?.requestStyle?.in === 'responses' || model?.requestStyle?.in === 'both') &&
  hostedArePriced(model, 1 + searches)

/** Reads and checks the body of /v1/responses/compact. */
export const decodeCompactCall = (body: JsonBody, modelNamed?: ModelNamed): Call | Refusal => {
  const call = decodeResponsesCall(withTrigger(body), modelNamed)
  if (call instanceof Refusal || call.compacts === undefined) return call
  return { ...call, compacts: { ...call.compacts, window: true } }
}

/** Reads and checks a body. */
export const decodeResponsesCall = (body: JsonBody, modelNamed?: ModelNamed): Call | Refusal => {
  const { outline: value } = body
  const found = readRequest(responsesRequest, value)
  if (found instanceof Refusal) return found
  const searches = searchesOf(value)
  const searching = searches > 0 && sellsSearch(modelNamed?.(textOf(value.model) ?? ''), searches)
  if (searching) found.hosted(searches, searches)
  if (forcesHosted(value, searching))
    return invalid(
      'tool_choice',
      "'tool_choice' forces a tool that runs at the vendor, which is not offered here; leave it out, or choose a tool of your own (a search also needs 'max_tool_calls', and a model whose searches have a price).",
    )
  const compacts = asksCompaction(value.input)
  if (compacts instanceof Refusal) return compacts
  if (compacts) found.template += SUMMARY_PROMPT.length
  return {
    kind: 'chat',
    dialect: 'responses',
    modelName: textOf(value.model) ?? '',
    body,
    stream: value.stream === true,
    showUsage: true,
    ...(typeof value.max_output_tokens === 'number' ? { maxOutput: value.max_output_tokens } : {}),
    choices: 1,
    size: found.sizeOf(body),
    ...(compacts ? { compacts: { prompt: SUMMARY_PROMPT } } : {}),
    ...(value.service_tier === 'flex' ? { tier: value.service_tier } : {}),
  }
}

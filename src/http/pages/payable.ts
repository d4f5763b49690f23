/**
 * The reference of a server that takes payments call by call: each operation that can be paid for says so, and some have
 * an example that a payer can send as it is. Source: Discovery for the Payment scheme (IETF draft).
 */
import { isObject, type JsonObject } from '../../core/json-body.ts'
import { discovered } from '../../payment/mpp/methods.ts'
import type { Offer } from '../../payment/x402/offer.ts'
import { exampleOf } from '../../products/example.ts'
import type { Shelf } from '../../products/shelf.ts'

/** Bodies that buy something small, by address. */
const examplesFor = ({ items }: Shelf): Readonly<Record<string, JsonObject>> => {
  const model = items.find((item) => item.model.kind === 'chat' && item.model.product === undefined)?.model
  if (model === undefined) return {}
  const inputs = exampleOf(model)
  const { messages, max_tokens: most } = inputs
  const chat = { model: model.id, messages, max_tokens: most }
  return {
    '/v1/run': { model: model.id, inputs },
    '/v1/chat/completions': chat,
    '/v1/messages': chat,
    '/v1/responses': { model: model.id, input: 'Say hello.', max_output_tokens: most },
  }
}

const withExample = (body: JsonObject, example: JsonObject): JsonObject => {
  const content = isObject(body.content) ? body.content : {}
  const json = content['application/json']
  return isObject(json)
    ? { ...body, content: { ...content, 'application/json': { ...json, example } } }
    : body
}

/** The same document, with what a payer looks for. */
export const payable = (document: JsonObject, shelf: Shelf, offers: readonly Offer[]): JsonObject => {
  const examples = examplesFor(shelf)
  const info = { offers: discovered(offers) }
  const paid = (path: string, operation: JsonObject): JsonObject => {
    if (!isObject(operation.responses) || operation.responses['402'] === undefined) return operation
    const { requestBody } = operation
    const example = examples[path]
    return {
      ...operation,
      'x-payment-info': info,
      ...(isObject(requestBody) && example !== undefined
        ? { requestBody: withExample(requestBody, example) }
        : {}),
    }
  }
  const paths = Object.entries(isObject(document.paths) ? document.paths : {}).map(([path, item]) => [
    path,
    Object.fromEntries(
      Object.entries(isObject(item) ? item : {}).map(([method, operation]) => [
        method,
        isObject(operation) ? paid(path, operation) : operation,
      ]),
    ),
  ])
  return {
    ...document,
    'x-service-info': { categories: ['ai'], docs: { apiReference: '/reference', llms: '/llms.txt' } },
    paths: Object.fromEntries(paths),
  }
}

/** The bodies of errors in the API reference, one for each style of address, and the quotes of a 402. */
import { z } from 'zod'
import { namedLoose, namedObject } from '../../core/body.ts'
import type { Route } from '../route/route.ts'

const requestId = z.string()

/** Other members depend on the code: see docs/errors.md. */
const errorBody = namedObject('Error', {
  error: z.looseObject({
    message: z.string(),
    type: z.string(),
    code: z.string(),
    param: z.string().optional(),
    request_id: requestId,
  }),
})

const messagesErrorBody = namedObject('MessagesError', {
  type: z.literal('error'),
  error: z.looseObject({ message: z.string(), type: z.string(), code: z.string() }),
  request_id: requestId,
})

const geminiErrorBody = namedObject('GenerateContentError', {
  error: z.object({
    code: z.int().describe('The HTTP status'),
    message: z.string(),
    status: z.string(),
    details: z.array(
      z.object({
        '@type': z.string(),
        reason: z.string().describe('The code of errors.md'),
        domain: z.string(),
        metadata: z.record(z.string(), z.string()),
      }),
    ),
  }),
})

const cohereErrorBody = namedLoose('CohereError', {
  id: requestId,
  message: z.string(),
  type: z.string(),
  code: z.string(),
})

const ollamaErrorBody = namedLoose('OllamaError', {
  error: z.string(),
  type: z.string(),
  code: z.string(),
  request_id: requestId,
})

const helperErrorBody = namedLoose('HelperError', {
  error: z.string(),
  code: z.string(),
  message: z.string(),
  request_id: requestId,
})

/**
 * What a payment has to be: the members of x402's version 1 beside those of problem details, which payers by the scheme
 * `Payment` read. Version 2 and that scheme say the rest in the headers PAYMENT-REQUIRED and WWW-Authenticate.
 */
export const paymentRequired = namedObject('PaymentRequired', {
  x402Version: z.literal(1).optional(),
  error: z.string(),
  message: z.string().optional().describe('For callers without a key: what else would do'),
  accepts: z.array(z.looseObject({})).optional(),
  type: z.string().optional().describe('A problem of https://paymentauth.org/problems'),
  title: z.string().optional(),
  status: z.union([z.literal(402), z.literal(400)]).optional(),
  detail: z.string().optional(),
  quote: z.object({
    protocol: z.literal('x402'),
    quote_id: z.string(),
    amount_usd: z.string(),
    currency: z.string(),
    upper_bound: z.boolean(),
    max_output_tokens: z.int().optional(),
    expires_at: z.string().meta({ format: 'date-time' }),
    change_policy: z.string(),
  }),
})

const styles = {
  messages: messagesErrorBody,
  gemini: geminiErrorBody,
  interactions: errorBody,
  cohere: cohereErrorBody,
  ollama: ollamaErrorBody,
} as const

/** The errors of a route: in the style of its address, with what it may answer in place of one. */
export const errorSchemasOf = ({ helper, dialect, instead }: Route): readonly z.ZodType[] => {
  const style = dialect === undefined ? errorBody : styles[dialect]
  return [helper === true ? helperErrorBody : style, ...(instead === undefined ? [] : [instead])]
}

/** POST /api/idempotent-run has its own error string for a missing header. */
export const noKeyOrPayment = z
  .union([helperErrorBody, paymentRequired])
  .meta({ id: 'MissingKeyOrPaymentRequired' })

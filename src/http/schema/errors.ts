/** The bodies of errors in the API reference, one for each style of address, and the quotes of a 402. */
import { z } from 'zod'
import type { Route } from '../route/route.ts'

const requestId = z.string()

/** Other members depend on the code: see docs/errors.md. */
const errorBody = z
  .object({
    error: z.looseObject({
      message: z.string(),
      type: z.string(),
      code: z.string(),
      param: z.string().optional(),
      request_id: requestId,
    }),
  })
  .meta({ id: 'Error' })

const messagesErrorBody = z
  .object({
    type: z.literal('error'),
    error: z.looseObject({ message: z.string(), type: z.string(), code: z.string() }),
    request_id: requestId,
  })
  .meta({ id: 'MessagesError' })

const geminiErrorBody = z
  .object({
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
  .meta({ id: 'GenerateContentError' })

const cohereErrorBody = z
  .looseObject({ id: requestId, message: z.string(), type: z.string(), code: z.string() })
  .meta({ id: 'CohereError' })

const ollamaErrorBody = z
  .looseObject({ error: z.string(), type: z.string(), code: z.string(), request_id: requestId })
  .meta({ id: 'OllamaError' })

const helperErrorBody = z
  .looseObject({ error: z.string(), code: z.string(), message: z.string(), request_id: requestId })
  .meta({ id: 'HelperError' })

/**
 * What a payment has to be: the members of x402's version 1 beside those of problem details, which payers by the scheme
 * `Payment` read. Version 2 and that scheme say the rest in the headers PAYMENT-REQUIRED and WWW-Authenticate.
 */
export const paymentRequired = z
  .object({
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
  .meta({ id: 'PaymentRequired' })

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

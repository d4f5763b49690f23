/** Schemas of the API reference, by the names the route table uses. */
import { accountSchemas } from './account-schemas.ts'
import { keySchemas } from './key-schemas.ts'

const text = { type: 'string' }
const number = { type: 'number' }
const truth = { type: 'boolean' }
const listOf = (items: object) => ({ type: 'array', items })
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})

const usage = object({
  prompt_tokens: number,
  completion_tokens: number,
  total_tokens: number,
  cost: { ...number, description: 'USD' },
  cost_details: { type: 'object', description: 'USD by usage class' },
  estimated: truth,
})
const balance = { _balance_warning: truth, _remaining_credits: number }
const model = object({
  id: text,
  object: text,
  owned_by: text,
  kind: text,
  cost: { ...number, description: 'Credits for 1,000 input and 1,000 output tokens' },
  pricing: { type: 'object' },
  context_length: number,
  max_output_tokens: number,
  capabilities: listOf(text),
  discounted: truth,
  aliases: listOf(text),
  ends: { ...text, description: 'The day on which the vendor ends the model; it is sold until that begins.' },
})

const checkout = object({
  id: text,
  url: text,
  amount_usd: number,
  consent: { ...text, description: 'What the payer of a checkout that saves the card agrees to' },
})
const invoice = object({
  id: text,
  month: text,
  status: { enum: ['open', 'past_due', 'paid', 'nothing_due'] },
  brought_usd: number,
  used_usd: number,
  total_usd: { ...number, description: 'In whole cents' },
  carried_usd: number,
  issued_at: text,
  due_at: text,
  paid_at: { type: ['string', 'null'] },
})

export const schemas = {
  Error: object(
    {
      error: object({ message: text, type: text, code: text, request_id: text }, ['message', 'type', 'code']),
    },
    ['error'],
  ),
  ChatRequest: {
    ...object(
      {
        model: text,
        messages: { ...listOf(object({ role: text, content: {} }, ['role'])), minItems: 1 },
        stream: truth,
        temperature: { ...number, minimum: 0, maximum: 2 },
        max_tokens: { type: 'integer', minimum: 1 },
        tools: listOf({ type: 'object' }),
        functions: listOf(
          object({ name: text, description: text, parameters: { type: 'object' } }, ['name']),
        ),
      },
      ['model', 'messages'],
    ),
    additionalProperties: true,
  },
  ChatCompletion: object({ id: text, choices: listOf({ type: 'object' }), usage, ...balance }),
  MessagesRequest: {
    ...object(
      {
        model: text,
        max_tokens: { type: 'integer', minimum: 1 },
        messages: { ...listOf(object({ role: text, content: {} }, ['role', 'content'])), minItems: 1 },
        system: {},
        stream: truth,
        temperature: { ...number, minimum: 0, maximum: 1 },
        tools: listOf({ type: 'object' }),
        thinking: { type: 'object' },
      },
      ['model', 'max_tokens', 'messages'],
    ),
    additionalProperties: true,
  },
  Message: object({
    id: text,
    content: listOf({ type: 'object' }),
    stop_reason: text,
    usage: { type: 'object' },
    ...balance,
  }),
  TokenCount: object({ input_tokens: number }),
  ResponsesRequest: {
    ...object(
      {
        model: text,
        input: {},
        instructions: text,
        stream: truth,
        max_output_tokens: { type: 'integer', minimum: 1 },
        tools: listOf({ type: 'object' }),
        reasoning: { type: 'object' },
        store: truth,
        previous_response_id: text,
      },
      ['model', 'input'],
    ),
    additionalProperties: true,
  },
  Response: object({
    id: text,
    status: text,
    output: listOf({ type: 'object' }),
    usage: { type: 'object' },
    ...balance,
  }),
  DeletedResponse: object({ id: text, object: text, deleted: truth }),
  GenerateContentRequest: {
    ...object(
      {
        contents: { ...listOf(object({ role: text, parts: listOf({ type: 'object' }) })), minItems: 1 },
        systemInstruction: { type: 'object' },
        tools: listOf({ type: 'object' }),
        generationConfig: { type: 'object' },
      },
      ['contents'],
    ),
    additionalProperties: true,
  },
  GenerateContentResponse: object({
    candidates: listOf({ type: 'object' }),
    usageMetadata: { type: 'object' },
    ...balance,
  }),
  GenerateContentModels: object({ models: listOf({ type: 'object' }) }),
  GenerateContentModel: object({ name: text, inputTokenLimit: number, outputTokenLimit: number }),
  EmbeddingsRequest: {
    ...object(
      {
        model: text,
        input: {},
        dimensions: { type: 'integer' },
        encoding_format: { enum: ['float', 'base64'] },
      },
      ['model', 'input'],
    ),
    additionalProperties: true,
  },
  Embeddings: object({ data: listOf({ type: 'object' }), usage, ...balance }),
  StreamFrame: object({
    id: { type: ['string', 'number', 'null'], description: 'Of the message it answers' },
    type: { enum: ['chunk', 'done', 'error'] },
    chunk: { type: 'object', description: 'An event of a streamed chat completion' },
    error: { type: 'object' },
    canceled: truth,
  }),
  RunRequest: object(
    {
      model: text,
      inputs: {
        type: 'object',
        description: 'What the model takes: the body of its own endpoint without the model.',
      },
    },
    ['model', 'inputs'],
  ),
  RunAnswer: { type: 'object', description: "The body of the model's own endpoint." },
  ModelList: object({ object: text, data: listOf(model) }),
  Model: model,
  ...keySchemas,
  ...accountSchemas,
  CheckoutRequest: object(
    {
      amount_usd: { ...number, minimum: 0.5, maximum: 10_000, description: 'In whole cents' },
      save_payment_method: { ...truth, description: 'Keeps the card for the auto_top_up rule of the wallet' },
    },
    ['amount_usd'],
  ),
  Checkout: checkout,
  CheckoutState: object({
    id: text,
    status: { enum: ['open', 'paid'] },
    amount_usd: number,
    invoice: { type: ['string', 'null'] },
  }),
  Received: object({ received: truth, outcome: { enum: ['done', 'replayed', 'ignored'] } }),
  Billing: object({
    data: object({
      wallet: text,
      status: { enum: ['none', 'active', 'past_due', 'withdrawn'] },
      limit_usd: number,
      owed_usd: number,
      held_usd: number,
      available_usd: number,
      net_days: number,
      invoices: listOf(invoice),
    }),
  }),
  Statement: object({
    data: object({
      wallet: text,
      month: text,
      opening_usd: number,
      used_usd: number,
      paid_usd: number,
      closing_usd: number,
      lines: listOf(
        object({
          key: text,
          label: text,
          model: text,
          requests: number,
          input_tokens: number,
          output_tokens: number,
          amount_usd: number,
        }),
      ),
      invoice: { oneOf: [invoice, { type: 'null' }] },
    }),
  }),
  PaymentRequest: object({ method: { enum: ['wallet', 'stripe', 'x402'] } }),
  PaymentAnswer: {
    oneOf: [
      object({
        data: invoice,
        credited_usd: { type: 'number', description: 'What of an x402 payment went to the wallet' },
      }),
      checkout,
    ],
  },
  Receipt: object({
    receipt: { ...text, description: 'A JWT of type receipt+jwt' },
    claims: { type: 'object' },
  }),
  ReceiptToVerify: object({ receipt: text }, ['receipt']),
  ReceiptVerdict: object(
    {
      valid: truth,
      error: { enum: ['malformed_jwt', 'signature_mismatch', 'expired'] },
      claims: { type: 'object' },
      kid: text,
    },
    ['valid'],
  ),
  KeySet: object({ keys: listOf({ type: 'object' }) }),
  Claim: object({
    claim: { ...text, description: 'The X-Change-Claim of the answer' },
    receipt: { ...text, description: 'Or the receipt of the answer' },
  }),
  ClaimAnswer: object({ data: object({ credited_usd: number }) }),
  Health: object({ status: { enum: ['ok', 'draining', 'out_of_touch'] }, error: text }, ['status']),
  Status: object({ status: { enum: ['ok', 'degraded'] }, services: { type: 'object' } }),
}

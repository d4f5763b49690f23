/** Schemas of the API reference, by the names the route table uses. */
const text = { type: 'string' }
const number = { type: 'number' }
const maybeNumber = { type: ['number', 'null'] }
const truth = { type: 'boolean' }
const listOf = (items: object) => ({ type: 'array', items })
const object = (properties: object, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
})

const limits = {
  spend_cap_usd: maybeNumber,
  monthly_cap_usd: maybeNumber,
  rpm_limit: { type: ['integer', 'null'] },
  stop_at_remaining_usd: maybeNumber,
}
const shownLimits = {
  id: text,
  label: text,
  ...limits,
  disabled: truth,
  disabled_reason: { type: ['string', 'null'] },
}
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
  Usage: object({
    data: object({
      from: text,
      to: text,
      group_by: listOf(text),
      total: { type: 'object' },
      rows: listOf({ type: 'object' }),
    }),
  }),
  Limits: object({ ...limits, disabled: { type: ['boolean', 'null'] } }),
  LimitsAnswer: object({ data: object(shownLimits) }),
  KeyUsage: object({
    data: object({
      spent_usd: number,
      spent_this_month_usd: number,
      held_usd: number,
      ...shownLimits,
      remaining_usd: number,
      requests: number,
    }),
  }),
  Status: object({ status: { enum: ['ok', 'degraded'] }, services: { type: 'object' } }),
}

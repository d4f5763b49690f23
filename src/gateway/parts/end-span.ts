/**
 * An ended call as a span, by OpenTelemetry's semantic conventions for generative AI (open-telemetry/semantic-conventions-genai,
 * gen-ai-spans.md at 002c8a6); never with content.
 */
import type { Call } from '../../core/call.ts'
import { isObject, type Json, type JsonObject } from '../../core/json-body.ts'
import { decimalFromNano } from '../../core/money.ts'
import { inputTokens, outputTokens, type Usage, type UsageClass } from '../../core/usage.ts'
import type { Catalogue } from '../../pricing/catalogue.ts'
import type { Gateway } from './gateway.ts'
import type { SpanNote, Traces } from './spans.ts'
import type { Trace } from './trace.ts'

/** Vendors that the conventions name differently. */
const providers: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  vertex: 'gcp.vertex_ai',
  xai: 'x_ai',
}

export const providerName = (vendor: string): string => providers[vendor] ?? vendor

type Ended = { readonly status: number; readonly nowMs: number }

/** Passes a traced call on to the exporter. */
export const endSpan = (gateway: Gateway, traces: Traces, trace: Trace, { status, nowMs }: Ended): void => {
  const { span, startedMs, times } = trace
  if (span === undefined) return
  const { firstOutMs, askedMs } = times
  const first =
    firstOutMs === undefined || askedMs === undefined
      ? []
      : [{ name: 'first token', fromMs: askedMs, toMs: firstOutMs }]
  const call: SpanNote = {
    name: [operationOf(gateway.offering.catalogue, trace), trace.model]
      .filter((part) => part !== undefined)
      .join(' '),
    fromMs: startedMs,
    toMs: nowMs,
    failed: status >= 500 || trace.ended === 'vendor_failed',
    attributes: attributesOf(gateway, trace, status),
  }
  traces.end(
    { parent: span.parent, call, steps: [...span.steps, ...first] },
    { nowMs, now: gateway.clock.now() },
  )
}

const operations = { chat: 'chat', embeddings: 'embeddings', media: 'generate_media' }

const operationOf = (catalogue: Catalogue, { model, endpoint = '', span }: Trace): string => {
  if (span?.asked?.dialect === 'completions') return 'text_completion'
  if (endpoint.startsWith('/v1beta/')) return 'generate_content'
  const kind = model === undefined ? undefined : catalogue.find(model)?.kind
  return kind === undefined ? endpoint : operations[kind]
}

/** Parts of the counts of tokens, by the names of the conventions. */
const parts: readonly (readonly [name: string, classes: readonly UsageClass[]])[] = [
  ['cache_read.input_tokens', ['cache_read', 'cache_read_audio']],
  ['cache_creation.input_tokens', ['cache_write', 'cache_write_1h']],
  ['audio.input_tokens', ['input_audio', 'cache_read_audio']],
  ['image.input_tokens', ['input_image']],
  ['reasoning.output_tokens', ['reasoning']],
  ['audio.output_tokens', ['output_audio']],
]

const partsOf = (usage: Usage) =>
  Object.fromEntries(
    parts.flatMap(([name, classes]) => {
      const counts = classes.flatMap((one) => usage[one] ?? [])
      return counts.length === 0 ? [] : [[`gen_ai.usage.${name}`, counts.reduce((sum, one) => sum + one)]]
    }),
  )

/** Settings of a request by the names of the conventions, and what callers' styles call them, at the top or in a group. */
const settings: readonly (readonly [name: string, ...members: string[]])[] = [
  ['request.temperature', 'temperature'],
  ['request.top_p', 'top_p', 'topP', 'p'],
  ['request.top_k', 'top_k', 'topK', 'k'],
  ['request.frequency_penalty', 'frequency_penalty', 'frequencyPenalty'],
  ['request.presence_penalty', 'presence_penalty', 'presencePenalty'],
  ['request.seed', 'seed'],
  ['embeddings.dimension.count', 'dimensions', 'output_dimension', 'outputDimensionality'],
]
const groups = ['generationConfig', 'generation_config', 'options']

const membersOf = (body: JsonObject): JsonObject =>
  Object.assign({}, ...groups.map((group) => body[group]).filter(isObject), body)

/** What the caller wants of the answer's form, where it says so. */
const outputOf = (members: JsonObject): string | undefined => {
  const { response_format: format, text, responseMimeType: mime, output_config: config } = members
  const type = (value: Json | undefined): Json | undefined => (isObject(value) ? value.type : value)
  const wanted =
    type(format) ??
    (isObject(text) ? type(text.format) : undefined) ??
    (isObject(config) ? type(config.format) : mime)
  if (typeof wanted !== 'string') return undefined
  return wanted.includes('json') ? 'json' : wanted.startsWith('text') ? 'text' : undefined
}

/** What was asked, as far as it is no content: stop sequences are the caller's words. */
const requestOf = ({ body: { outline }, maxOutput, choices, stream, kind }: Call) => {
  const members = membersOf(outline)
  const { encoding_format: encoding } = members
  const output = kind === 'chat' ? outputOf(members) : undefined
  const found = settings.flatMap(([name, ...called]) => {
    const value = called.map((member) => members[member]).find((one) => typeof one === 'number')
    return value === undefined ? [] : [[`gen_ai.${name}`, Number(value)] as const]
  })
  return {
    ...Object.fromEntries(found),
    ...(stream ? { 'gen_ai.request.stream': true } : {}),
    ...(maxOutput === undefined ? {} : { 'gen_ai.request.max_tokens': maxOutput }),
    ...(choices === 1 ? {} : { 'gen_ai.request.choice.count': choices }),
    ...(output === undefined ? {} : { 'gen_ai.output.type': output }),
    ...(typeof encoding === 'string' ? { 'gen_ai.request.encoding_formats': [encoding] } : {}),
  }
}

/** Where the vendor was asked. */
const serverOf = (address: string | undefined) => {
  const url = address === undefined ? null : URL.parse(address)
  if (url === null) return {}
  const port = Number(url.port) || (url.protocol === 'http:' ? 80 : 443)
  return { 'server.address': url.hostname, 'server.port': port }
}

const conversationOf = ({ from, span }: Trace) => {
  const { conversation } = span?.asked?.body.outline ?? {}
  const named = isObject(conversation) ? conversation.id : conversation
  const id = from?.request.headers.get('x-session-id') ?? named
  return typeof id === 'string' ? { 'gen_ai.conversation.id': id } : {}
}

const SECOND_MS = 1_000

const attributesOf = (
  gateway: Gateway,
  trace: Trace,
  status: number,
): NonNullable<SpanNote['attributes']> => {
  const { model, vendor, usage, charged, ended, keyId, span, times } = trace
  const { firstOutMs, askedMs } = times
  const entry = model === undefined ? undefined : gateway.offering.catalogue.find(model)
  return {
    'gen_ai.operation.name': operationOf(gateway.offering.catalogue, trace),
    ...(vendor === undefined ? {} : { 'gen_ai.provider.name': providerName(vendor) }),
    ...(model === undefined ? {} : { 'gen_ai.request.model': model }),
    ...(entry === undefined || usage === undefined ? {} : { 'gen_ai.response.model': entry.upstreamName }),
    ...(usage === undefined
      ? {}
      : {
          'gen_ai.usage.input_tokens': inputTokens(usage),
          'gen_ai.usage.output_tokens': outputTokens(usage),
          ...partsOf(usage),
        }),
    ...(span?.asked === undefined ? {} : requestOf(span.asked)),
    ...serverOf(span?.askedAt),
    ...conversationOf(trace),
    ...(firstOutMs === undefined || askedMs === undefined
      ? {}
      : { 'gen_ai.response.time_to_first_chunk': (firstOutMs - askedMs) / SECOND_MS }),
    'http.response.status_code': status,
    'http.route': trace.endpoint ?? '',
    ...(ended === undefined || ended === 'ok' ? {} : { 'error.type': ended }),
    'turnpike.call.id': trace.callId,
    'turnpike.attempts': trace.attempts,
    ...(keyId === undefined ? {} : { 'turnpike.key.id': keyId }),
    ...(charged === undefined || usage === undefined
      ? {}
      : { 'turnpike.charge_usd': decimalFromNano(charged) }),
  }
}

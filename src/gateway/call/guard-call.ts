/**
 * Guardrails of one call: its request is looked through, in the form in which the vendor would get it, before money is held.
 * Whatever cannot be looked into is refused by name.
 */
import type { Call } from '../../core/call.ts'
import { type JsonBody, readJsonBody } from '../../core/json-body.ts'
import { must } from '../../core/refusal.ts'
import { AnswerGuard, blockedBy } from '../../guardrails/answer-guard.ts'
import type { Detector } from '../../guardrails/letters.ts'
import { maskBody } from '../../guardrails/mask-body.ts'
import { type GuardRule, type Policy, policyOf } from '../../guardrails/rules.ts'
import type { Key } from '../../tenancy/key.ts'
import type { WalletRules } from '../../tenancy/wallet-rules.ts'
import { notGuarded } from '../enter/rules.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { askHooks, replacedBy } from './guard-hooks.ts'
import { noteVerdict, noting } from './guard-verdicts.ts'

type Rules = Pick<WalletRules, 'guardrails'>

type Guarded = {
  readonly key: Key
  readonly call: Call
  readonly trace: Trace
  /** The request with all that its vendor gets, such as earlier turns that it names. */
  readonly body: JsonBody
}

/** Policies by their lists, which stay the same until somebody changes them. */
const known = new WeakMap<readonly GuardRule[], Policy>()

const policyFor = ({ guardrails: own }: Key, { guardrails: its }: Rules): Policy => {
  const lists = [its, own].filter((list) => list !== undefined)
  const [only] = lists
  if (lists.length !== 1 || only === undefined) return policyOf(lists)
  const policy = known.get(only) ?? policyOf([only])
  known.set(only, policy)
  return policy
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/** The body that may go to the vendor, and what the answer needs. Throws the refusal of what is blocked. */
export const guardRequest = async (
  gateway: Gateway,
  rules: Rules,
  it: Guarded,
): Promise<{ readonly body: JsonBody; readonly guard: AnswerGuard | undefined }> => {
  const { key, call, trace } = it
  const policy = policyFor(key, rules)
  const looksIn = policy.input.watched.length > 0 || policy.pre.length > 0
  const sent = decoder.decode(it.body.bytes)
  const blocked: Detector[] = []
  const note = noting(trace, 'input')
  const { json, vault, attached } = maskBody(sent, policy.input, (detector, action, found) => {
    note(detector, action, found)
    if (action === 'block') blocked.push(detector)
  })
  const [first] = blocked
  if (first !== undefined) throw blockedBy(first.name, 'input')
  if (policy.images === 'refuse' && (attached || hasMedia(call))) {
    noteVerdict(trace, 'input.images', 'block')
    throw blockedBy('images', 'input', 'it has an image, a file or a sound, into which they cannot look')
  }
  if (looksIn && hasTokens(call))
    throw notGuarded('tokens in place of texts cannot be looked into; send texts', 'input')
  checkAnswer(policy, call)
  const asked = { key, call, trace }
  const passed = await askHooks(gateway, policy.pre, json, asked)
  const { output, post } = policy
  const looksOut = output.watched.length > 0 || post.length > 0 || vault.size > 0
  return {
    body: passed === sent ? it.body : must(readJsonBody(encoder.encode(passed))),
    guard: looksOut
      ? new AnswerGuard({
          policy,
          vault: vault.size === 0 ? undefined : vault,
          noted: noting(trace, 'output'),
          approve: post.length === 0 ? undefined : (answer) => replacedBy(gateway, post, answer, asked),
        })
      : undefined,
  }
}

const hasMedia = ({ size, media }: Call): boolean =>
  size.images > 0 || size.audioBytes > 0 || size.unbounded === true || media?.unread !== undefined

/** Embeddings and completions also take lists of tokens. */
const hasTokens = ({ body: { outline } }: Call): boolean =>
  [outline.input, outline.prompt].some(
    (texts) => Array.isArray(texts) && texts.flat().some((one) => typeof one === 'number'),
  )

/** Whether the answer would have its tokens one by one, in the words of any dialect. */
const hasLogprobs = ({ outline }: JsonBody): boolean =>
  [outline.logprobs, outline.top_logprobs].some((asked) => (asked ?? false) !== false) ||
  String(outline.include).includes('logprobs') ||
  [outline.generationConfig, outline.generation_config].some((config) =>
    Object.keys(config ?? {}).some((name) => /^response_?logprobs$/i.test(name)),
  )

/** Whether the answer may have images or sound, in the words of any dialect. */
const makesMedia = ({ outline }: JsonBody): boolean =>
  [outline, outline.generationConfig, outline.generation_config].some((config) =>
    Object.entries(config ?? {}).some(
      ([name, asked]) =>
        /^(?:response_?)?modalities$/i.test(name) &&
        [asked].flat().some((kind) => String(kind).toLowerCase() !== 'text' && kind !== null),
    ),
  )

/** Answers that no rule could look into. */
const checkAnswer = ({ output, post, images }: Policy, { kind, stream, media, body }: Call): void => {
  if (output.watched.length === 0 && post.length === 0) return
  if ((post.length > 0 || output.watched.some(({ action }) => action === 'mask')) && hasLogprobs(body))
    throw notGuarded('logprobs say an answer once more, token by token: leave them out', 'logprobs')
  const results = media?.priced === undefined && media?.unread === undefined ? '' : (media?.results ?? '')
  if (kind === 'media' && (images === 'refuse' || results.startsWith('transcript')))
    throw notGuarded('its rules for answers cannot look into results of this model', 'model')
  if (images === 'refuse' && makesMedia(body))
    throw notGuarded(
      'its rules for answers cannot look into images or sound: ask for text alone',
      'modalities',
    )
  if (stream && post.length > 0)
    throw notGuarded("a hook looks at whole answers: leave 'stream' out", 'stream')
}

/** The request of a count, as the vendor may see it. */
export const guardCount = async (
  gateway: Gateway,
  rules: Rules,
  it: Omit<Guarded, 'body'>,
): Promise<Call> => {
  const { body } = await guardRequest(gateway, rules, { ...it, body: it.call.body })
  return { ...it.call, body }
}

/**
 * Hooks of guardrails: a server of the organisation's own gets the texts, and says whether they pass. Whatever it does beside
 * that refuses the call, unless its rule says `open`.
 */
import type { Call } from '../../core/call.ts'
import { Refusal, refuse } from '../../core/refusal.ts'
import { blockedBy, type Replaced } from '../../guardrails/answer-guard.ts'
import { type HookVerdict, hookTextsOf, readVerdict } from '../../guardrails/hook-texts.ts'
import type { HookRule } from '../../guardrails/rules.ts'
import type { Key } from '../../tenancy/key.ts'
import { systemPublicParts } from '../../transport/public-address.ts'
import { askWebhook } from '../../transport/webhook.ts'
import { signedHeaders } from '../jobs/signed-webhook.ts'
import type { Gateway } from '../parts/gateway.ts'
import type { Trace } from '../parts/trace.ts'
import { noteVerdict } from './guard-verdicts.ts'

type Asked = { readonly key: Key; readonly call: Call; readonly trace: Trace }

const sideOf = { pre: 'input', post: 'output' } as const
/** What a hook may answer beside as many bytes as it was sent. */
const ANSWER_SPARE = 64 * 1024

/** What the hook says; undefined if it did not answer as it must and its rule lets such calls pass. */
const verdictOf = async (
  gateway: Gateway,
  { hook, phase, deadline_ms: deadlineMs, fail }: HookRule,
  texts: readonly string[],
  { key, call, trace }: Asked,
): Promise<HookVerdict | Refusal | undefined> => {
  const { clock, webhooks = systemPublicParts } = gateway
  const at = clock.now()
  const body = JSON.stringify({
    type: `guardrail.${phase}`,
    timestamp: new Date(at).toISOString(),
    data: { call: trace.callId, key: key.id, model: call.modelName, texts },
  })
  const signed = {
    walletId: key.walletId,
    id: `${trace.callId}.${phase}`,
    timestamp: String(Math.floor(at / 1000)),
    body,
  }
  const bytesMax = 6 * Buffer.byteLength(body) + ANSWER_SPARE
  const answered = askWebhook(
    webhooks,
    { url: hook, headers: signedHeaders(gateway, signed), body },
    { deadlineMs, bytesMax },
  )
  // The look-up of a name has no deadline of its own.
  const answer = await Promise.race([
    answered.catch(() => undefined),
    clock.sleep(deadlineMs).then(() => undefined),
  ])
  const verdict = answer === undefined ? undefined : readVerdict(answer, texts.length)
  noteVerdict(trace, `${sideOf[phase]}.hook`, verdict?.verdict ?? `failed_${fail}`)
  if (verdict !== undefined || fail === 'open') return verdict
  return refuse(
    'guardrail_failed',
    `The guardrails' hook for ${phase === 'pre' ? 'requests' : 'answers'} did not answer as it must within ${deadlineMs} ms.`,
    { members: { rule: 'hook' } },
  )
}

/** The request's JSON as the hooks let it pass. Throws the refusal of what they block. */
export const askHooks = async (
  gateway: Gateway,
  hooks: readonly HookRule[],
  json: string,
  asked: Asked,
): Promise<string> => {
  let passed = json
  for (const hook of hooks) {
    const its = hookTextsOf(passed)
    const verdict = await verdictOf(gateway, hook, its.texts, asked)
    if (verdict instanceof Refusal) throw verdict
    if (verdict?.verdict === 'block') throw blockedBy('hook', 'input', verdict.reason)
    if (verdict?.verdict === 'replace') passed = its.with(verdict.texts)
  }
  return passed
}

/** What hooks put in place of the texts of a whole answer, or why it does not go out. */
export const replacedBy = async (
  gateway: Gateway,
  hooks: readonly HookRule[],
  json: string,
  asked: Asked,
): Promise<Replaced | Refusal> => {
  const { texts } = hookTextsOf(json)
  let now = texts
  for (const hook of hooks) {
    const verdict = await verdictOf(gateway, hook, now, asked)
    if (verdict instanceof Refusal) return verdict
    if (verdict?.verdict === 'block') return blockedBy('hook', 'output', verdict.reason)
    if (verdict?.verdict === 'replace') now = verdict.texts
  }
  if (now === texts) return new Map()
  return Map.groupBy(
    texts.map((text, at) => ({ text, now: now[at] ?? text })),
    ({ text }) => text,
  )
}

/** POST /api/try/anonymous-wallet: a small wallet and a key without sign-up, once per network address. */
import { signUpAt, signUpMember } from '../../admission/caller.ts'
import { inCell } from '../../cells/cell-of.ts'
import { must } from '../../core/refusal.ts'
import { newId } from '../../core/time.ts'
import { readIdempotencyKey } from '../../gateway/enter/once-only.ts'
import { takeGuestTurn } from '../../gateway/paid/guest-turn.ts'
import { creditsOf } from '../../gateway/parts/credits.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { TrialOutcome } from '../../store/accounts/community-port.ts'
import { Violation } from '../../store/engine/engine.ts'
import { HelperRefusal } from '../answer/helper-refusal.ts'
import { json } from '../answer/reply.ts'
import { originOfCall } from '../request/origin.ts'
import type { Handler, HttpCall } from '../route/route.ts'

/** Requests per minute of a trial's key. */
const TRIAL_RPM = 10

export const claimTrial: Handler = async (gateway, call) => {
  const { signUpUrl } = gateway.options
  if (gateway.options.trial.amount === 0n)
    throw new HelperRefusal(
      'no_trials',
      `There are no anonymous trials here. ${signUpAt(signUpUrl)}`,
      signUpMember(signUpUrl),
    )
  takeGuestTurn(gateway, 'trial', originOfCall(gateway, call), call.trace)
  const token = tokenOf(gateway, call)
  const outcome = await claim(gateway, call, token)
  if (outcome.outcome !== 'granted') throw tooSoon(outcome, signUpUrl)
  return json(
    {
      api_key: token,
      wallet_id: outcome.walletId,
      credits: creditsOf(gateway)(outcome.amount),
      expires_at: new Date(outcome.expiresAt).toISOString(),
    },
    201,
  )
}

/** Callers with unknown addresses share one claim. */
const claimantOf = (gateway: Gateway, call: HttpCall): string => gateway.hash(claimant(gateway, call))

const claimant = (gateway: Gateway, call: HttpCall): string => `trial of ${originOfCall(gateway, call)}`

/** Derived under the server's secret: a claim repeated with its Idempotency-Key gets the same key again. */
const tokenOf = (gateway: Gateway, call: HttpCall): string => {
  const attempt = call.request.headers.get('idempotency-key')
  const name = attempt === null ? `once ${newId()}` : `attempt ${must(readIdempotencyKey(attempt))}`
  return `sk-${inCell(gateway.options.cell.own)}trial${gateway.hash(`trial key of ${claimantOf(gateway, call)} ${name}`)}`
}

const claim = async (gateway: Gateway, call: HttpCall, token: string): Promise<TrialOutcome> => {
  const id = newId().replaceAll('-', '')
  const attempt = call.request.headers.get('idempotency-key')
  const { cell, trial } = gateway.options
  const { amount, dailyAmount, lifeMs, againMs } = trial
  try {
    return await gateway.store.community.claimTrial({
      origin: claimantOf(gateway, call),
      originBefore: gateway.hash.before?.(claimant(gateway, call)),
      ...(attempt === null ? {} : { attempt: gateway.hash(`trial attempt ${attempt}`) }),
      key: {
        id: `key_${id}`,
        hash: gateway.hash(token),
        hashedBy: gateway.hash.id,
        orgId: `trial_${id}`,
        walletId: `wal_${id}`,
        label: 'anonymous trial',
        prefix: token.slice(0, inCell(cell.own).length + 12),
        limits: { rpm: TRIAL_RPM },
      },
      amount,
      dailyAmount,
      lifeMs,
      againMs,
    })
  } catch (fault) {
    gateway.memory.faults.note(
      gateway.clock.monotonicMs(),
      'a trial could not be opened within the last minute',
    )
    gateway.log.error('a trial failed', { call: call.trace.callId, error: String(fault) })
    throw fault instanceof Violation && fault.constraint.includes('api_key')
      ? new HelperRefusal(
          'mint_key_failed',
          'The key could not be made; try again with another Idempotency-Key.',
        )
      : new HelperRefusal(
          'wallet_grant_failed',
          'The wallet could not be made; try again with an Idempotency-Key, and see /api/status.',
        )
  }
}

const tooSoon = (
  { outcome, retryAfterMs }: Exclude<TrialOutcome, { outcome: 'granted' }>,
  signUpUrl: string | undefined,
): HelperRefusal => {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000))
  const members = { retry_after_seconds: seconds, ...signUpMember(signUpUrl) }
  const or = signUpAt(signUpUrl)
  return outcome === 'claimed'
    ? new HelperRefusal(
        'trial_already_claimed',
        `A trial was claimed from this network address before. ${or}`,
        members,
      )
    : new HelperRefusal(
        'trial_budget_exhausted',
        `All of today's trials are given away; try again tomorrow (UTC). ${or}`,
        members,
      )
}

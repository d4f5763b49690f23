/**
 * What this process knows of callers, provably fresh: their keys, the keys above those, the rules of their wallets,
 * their rates.
 */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import { Refusal } from '../core/refusal.ts'
import { type Clock, monthOf } from '../core/time.ts'
import { isEnabled, isKnown } from '../tenancy/key.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { Book } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { KnownKeys } from './known-keys.ts'
import type { RulesKnown } from './known-rules.ts'
import type { Rates } from './rates.ts'
import { type Touch, unreachable } from './touch.ts'

/** A call that learns why it was fenced does not wait a second time for a ledger that is away. */
const REREAD_MS = 250

type CallersParts = {
  readonly clock: Clock
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'fresh'>
  readonly keys: KnownKeys
  readonly rules: RulesKnown
  readonly rates: Rates
  readonly touch: Touch
}

type Callers = Pick<Book, 'caller' | 'makersOf' | 'rules' | 'takeRate' | 'whyFenced'>

export const createCallers = (parts: CallersParts): Callers => {
  const { clock, gate, heartbeat, keys, rules, rates, touch } = parts
  const read = <T>(reading: Promise<T>): Promise<T | Refusal> =>
    touch.whileInTouch(reading).catch(unreachable)
  const callerNow = (hash: string): ReturnType<Book['caller']> => {
    const refusal = gate.refusesNew()
    if (refusal) return refusal
    const found = keys.find(hash)
    return found instanceof Promise ? read(found) : found
  }
  const callerFresh = async (hash: string) => {
    await gate.untilFresh()
    return callerNow(hash)
  }
  return {
    caller: (hash) => {
      const now = callerNow(hash)
      return now instanceof Refusal && !heartbeat.fresh() ? callerFresh(hash) : now
    },
    makersOf: async ({ above }) => {
      try {
        const makers = await Promise.all(above.map((id) => keys.get(id) ?? keys.reread(id)))
        return makers.filter((maker) => maker !== undefined)
      } catch {
        return unreachable()
      }
    },
    rules: (walletId) => {
      const known = rules.of(walletId)
      return known instanceof Promise ? read(known.then((one) => one.rules)) : known.rules
    },
    takeRate: (keyId, limits, planRpm, tokens) => {
      const verdict = rates.take(keyId, limits, planRpm, tokens)
      // A request that cannot be counted is not admitted, because the window would no longer be exact.
      return verdict instanceof Promise ? read(verdict) : verdict
    },
    whyFenced: async (key) => {
      const now = await Promise.race([
        keys.reread(key.id).catch(() => key),
        clock.sleep(REREAD_MS).then(() => key),
      ])
      if (now === undefined || !isKnown(now, clock.now())) return unknownKey()
      return isEnabled(now, monthOf(clock.now())) ? unreachable() : disabledKey(now)
    },
  }
}

/**
 * What this process knows of callers: their keys, the keys above those, the rules of their wallets, their rates. A version
 * never goes backwards, and what is known is only trusted while a heartbeat proves that no change was missed.
 */
import { disabledKey, unknownKey } from '../admission/caller.ts'
import { Refusal } from '../core/refusal.ts'
import { whenKnown } from '../core/soon.ts'
import { type Clock, monthOf } from '../core/time.ts'
import type { KeyStore } from '../store/accounts/tenancy-port.ts'
import type { WalletRulesStore } from '../store/accounts/wallet-rules-port.ts'
import type { TenantStore } from '../store/tenants/tenant-port.ts'
import { isEnabled, isKnown, type Key, type KeyId, placeOf, type WalletId } from '../tenancy/key.ts'
import type { Margin } from '../tenancy/margin.ts'
import { type Terms, type Told, termsIn } from '../tenancy/terms.ts'
import type { KnownRules } from '../tenancy/wallet-rules.ts'
import type { AdmissionGate } from './admission-gate.ts'
import type { Book, Soon } from './contract.ts'
import type { Heartbeat } from './heartbeat.ts'
import type { Rates } from './rates.ts'
import { type Touch, unreachable } from './touch.ts'

export type KnownKeys = {
  /** The newest known state; undefined if it was never read. */
  get(id: KeyId): Key | undefined
  /**
   * By the hash of its token: from memory, else from the store, by any of the hashes. Undefined for deleted and unknown keys, and for keys of
   * ended trials.
   */
  find(hash: string, others?: readonly string[]): Key | undefined | Promise<Key | undefined>
  /** Whether the hash belongs to an ended trial, as far as this process has read. */
  isEndedTrial(hash: string): boolean
  /** A key was stored under this hash: it is looked up again, even if it was unknown a moment ago. */
  lookAgain(hash: string): void
  /** Takes in a state that was read; a state older than the known one changes nothing. Returns whether it was new. */
  learn(key: Key): boolean
  /** Reports each newer state of a key that was already known. */
  onChanged(listener: (key: Key) => void): void
  /** Reads the key again from the store. */
  reread(id: KeyId): Promise<Key | undefined>
}

/** Unknown hashes are remembered, so that random keys do not reach the database each time. */
const UNKEYS_MAX = 10_000
const UNKNOWN_MS = 5_000
const KEYS_MAX = 200_000

export const createKnownKeys = (
  store: Pick<KeyStore, 'key' | 'callerByHash'>,
  clock: Clock,
  rules: Pick<RulesKnown, 'learn'>,
): KnownKeys => {
  const keys = new Map<KeyId, Key>()
  const idByHash = new Map<string, KeyId>()
  const unknownUntil = new Map<string, number>()
  const listeners: ((key: Key) => void)[] = []
  const loading = new Map<string, Promise<Key | undefined>>()

  const learn = (key: Key): boolean => {
    const known = keys.get(key.id)
    if (known !== undefined && known.version >= key.version) return false
    keys.set(key.id, key)
    if (known !== undefined) for (const listener of listeners) listener(key)
    return true
  }

  const current = (id: KeyId): Key | undefined => {
    const key = keys.get(id)
    return key === undefined || !isKnown(key, clock.now()) ? undefined : key
  }

  const load = async (hash: string, others: readonly string[]): Promise<Key | undefined> => {
    const caller = await store.callerByHash(hash, ...others)
    if (caller === undefined) {
      if (unknownUntil.size >= UNKEYS_MAX) unknownUntil.clear()
      unknownUntil.set(hash, clock.monotonicMs() + UNKNOWN_MS)
      return undefined
    }
    if (idByHash.size >= KEYS_MAX) idByHash.clear()
    const { key, above } = caller
    idByHash.set(hash, key.id)
    for (const one of [key, ...above]) learn(one)
    rules.learn(caller.rules)
    return current(key.id)
  }

  const loadOnce = (hash: string, others: readonly string[]): Promise<Key | undefined> => {
    const started = load(hash, others).finally(() => loading.delete(hash))
    loading.set(hash, started)
    return started
  }

  return {
    get: (id) => keys.get(id),
    learn,
    isEndedTrial: (hash) => {
      const key = keys.get(idByHash.get(hash) ?? '')
      return key?.trialUntil !== undefined && !key.deleted && key.trialUntil <= clock.now()
    },
    lookAgain: (hash) => void unknownUntil.delete(hash),
    onChanged: (listener) => void listeners.push(listener),
    find: (hash, others = []) => {
      const id = idByHash.get(hash)
      if (id !== undefined) return current(id)
      if ((unknownUntil.get(hash) ?? 0) > clock.monotonicMs()) return undefined
      const running = loading.get(hash)
      if (running !== undefined) return running
      return loadOnce(hash, others)
    },
    reread: async (id) => {
      const key = await store.key(id)
      if (key !== undefined) learn(key)
      return keys.get(id)
    },
  }
}

export type RulesKnown = {
  /** From memory, else from the store. */
  of(id: WalletId): KnownRules | Promise<KnownRules>
  /** Takes in a state that was read; a state older than the known one changes nothing. Returns whether it was new. */
  learn(known: KnownRules): boolean
}

const RULES_MAX = 100_000

export const createKnownRules = (store: Pick<WalletRulesStore, 'walletRules'>): RulesKnown => {
  const known = new Map<WalletId, KnownRules>()
  const loading = new Map<WalletId, Promise<KnownRules>>()

  const learn = (read: KnownRules): boolean => {
    const before = known.get(read.walletId)
    if (before !== undefined && before.version >= read.version) return false
    if (known.size >= RULES_MAX) known.clear()
    known.set(read.walletId, read)
    return true
  }
  const load = async (id: WalletId): Promise<KnownRules> => {
    const read = await store.walletRules(id)
    learn(read)
    return known.get(id) ?? read
  }
  const loadOnce = (id: WalletId): Promise<KnownRules> => {
    const started = load(id).finally(() => loading.delete(id))
    loading.set(id, started)
    return started
  }
  return {
    of: (id) => {
      return known.get(id) ?? loading.get(id) ?? loadOnce(id)
    },
    learn,
  }
}

/** A reseller's prices: margins by tenant, under undefined those for all. */
type Pricing = {
  /** The version of the wallet's rules that they were read under, or before. */
  readonly version: number
  readonly name: string
  readonly margins: ReadonlyMap<string | undefined, readonly Margin[]>
}

type TermsParts = {
  readonly store: Pick<TenantStore, 'pricing'>
  readonly rules: Pick<RulesKnown, 'of'>
  readonly clock: Pick<Clock, 'now'>
  /** Reads while the ledger is in touch; a Refusal when it is not. */
  readonly read: <T>(reading: Promise<T>) => Promise<T | Refusal>
}

const PRICINGS_MAX = 10_000

/**
 * What tenants are told of money: the choice is a rule of their wallet, and each change of the reseller's prices counts as
 * a change of those rules, so that both are as fresh as the keys are.
 */
const createTenantTerms = ({ store, rules, clock, read }: TermsParts): Book['terms'] => {
  const pricings = new Map<WalletId, Pricing>()

  const load = async ({ walletId, version }: KnownRules, orgId: string): Promise<Pricing> => {
    const { margins, name } = await store.pricing(orgId)
    const pricing = { version, name, margins: Map.groupBy(margins, ({ tenantId }) => tenantId) }
    if (pricings.size >= PRICINGS_MAX) pricings.clear()
    if ((pricings.get(walletId)?.version ?? -1) <= version) pricings.set(walletId, pricing)
    return pricing
  }

  /** By the tenant's own margins, if it has any, and those for all. */
  const termsOf = (
    pricing: Pricing | Refusal,
    see: Terms['see'],
    { key, makers }: { readonly key: Key; readonly makers: readonly Key[] },
  ): Terms | Refusal => {
    if (pricing instanceof Refusal) return pricing
    const { name: issuer, margins } = pricing
    const top = key.ancestors.at(-2)
    // A tenant has the id of the first of its keys, in whose place the others stand.
    const tenantId = placeOf(makers.find(({ id }) => id === top) ?? key)
    const may = [...(margins.get(tenantId) ?? []), ...(margins.get(undefined) ?? [])]
    return termsIn({ see, basisPoints: 0, margins: may, tenantId, issuer }, monthOf(clock.now()))
  }

  const ofRules = (known: KnownRules | Refusal, key: Key, makers: readonly Key[]): Soon<Told | Refusal> => {
    if (known instanceof Refusal) return known
    const { tenantsSee: see = 'cost' } = known.rules
    if (see === 'cost') return undefined
    const pricing = pricings.get(known.walletId)
    return whenKnown(
      pricing?.version === known.version ? pricing : read(load(known, key.orgId)),
      termsOf,
      see,
      { key, makers },
    )
  }

  return (key, makers) => {
    if (key.ancestors.length === 0) return undefined
    const known = rules.of(key.walletId)
    return whenKnown(known instanceof Promise ? read(known) : known, ofRules, key, makers)
  }
}

/** A call that learns why it was fenced does not wait a second time for a ledger that is away. */
const REREAD_MS = 250

/** What is told while nobody knows what may be. */
const unread: Told = { see: 'nothing', basisPoints: 0, margins: [], tenantId: '', issuer: '' }

type CallersParts = {
  readonly store: { readonly tenants: Pick<TenantStore, 'pricing'> }
  readonly clock: Clock
  readonly gate: AdmissionGate
  readonly heartbeat: Pick<Heartbeat, 'fresh'>
  readonly keys: KnownKeys
  readonly rules: RulesKnown
  readonly rates: Rates
  readonly touch: Touch
}

/** Callers, as fresh as the heartbeat proves. */
type Callers = Pick<
  Book,
  'caller' | 'callerById' | 'makersOf' | 'rules' | 'terms' | 'termsOf' | 'rateLeft' | 'takeRate' | 'whyFenced'
>

export const createCallers = (parts: CallersParts): Callers => {
  const { clock, gate, heartbeat, keys, rules, rates, touch } = parts
  const read = <T>(reading: Promise<T>): Promise<T | Refusal> =>
    touch.whileInTouch(reading).catch(unreachable)
  const callerNow = (hash: string, others?: readonly string[]): ReturnType<Book['caller']> => {
    const refusal = gate.refusesNew()
    if (refusal) return refusal
    const found = keys.find(hash, others)
    return found instanceof Promise ? read(found) : found
  }
  const callerFresh = async (hash: string, others?: readonly string[]) => {
    await gate.untilFresh()
    return callerNow(hash, others)
  }
  const callerById = async (id: KeyId) => {
    if (!heartbeat.fresh()) await gate.untilFresh()
    const refusal = gate.refusesNew()
    if (refusal) return refusal
    const key = keys.get(id) ?? (await read(keys.reread(id)))
    return key === undefined || key instanceof Refusal || isKnown(key, clock.now()) ? key : undefined
  }
  const makersRead = async (above: readonly KeyId[]) => {
    try {
      const makers = await Promise.all(above.map((id) => keys.get(id) ?? keys.reread(id)))
      return makers.filter((maker) => maker !== undefined)
    } catch {
      return unreachable()
    }
  }
  const makersOf = ({ above }: Pick<Key, 'above'>) => {
    const known = above.flatMap((id) => keys.get(id) ?? [])
    return known.length === above.length ? known : makersRead(above)
  }
  const terms = createTenantTerms({ store: parts.store.tenants, rules, clock, read })
  return {
    terms,
    termsOf: async (id) => {
      const key = keys.get(id) ?? (await read(keys.reread(id)))
      if (key === undefined || key instanceof Refusal) return unread
      const makers = await makersOf(key)
      if (makers instanceof Refusal) return unread
      const told = await terms(key, makers)
      return told instanceof Refusal ? unread : told
    },
    caller: (hash, others) => {
      const now = callerNow(hash, others)
      return now instanceof Refusal && !heartbeat.fresh() ? callerFresh(hash, others) : now
    },
    callerById,
    makersOf,
    rules: (walletId) => {
      const known = rules.of(walletId)
      return known instanceof Promise ? read(known.then((one) => one.rules)) : known.rules
    },
    takeRate: (keyId, limits, planRpm, tokens) => {
      const verdict = rates.take(keyId, limits, planRpm, tokens)
      // A request that cannot be counted is not admitted, because the window would no longer be exact.
      return verdict instanceof Promise ? read(verdict) : verdict
    },
    rateLeft: rates.left,
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

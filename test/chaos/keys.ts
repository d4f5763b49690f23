/** The accounts of one run: wallets, credit lines, sub-wallets, and keys with each limit; all as their owners know them. */
import type { Limit } from './callers.ts'
import { command, type Environment } from './gateways.ts'
import type { LoadKey } from './load.ts'

/**
 * Sends a request of the set-up through a gateway; nothing is broken yet. One that a busy machine gave no time to hear from its
 * ledger says when to come again.
 */
const say = async (url: string, method: string, token: string, body: object): Promise<any> => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  for (;;) {
    const answer = await fetch(url, { method, headers, body: JSON.stringify(body) })
    if (answer.ok) return answer.json()
    const text = await answer.text()
    if (answer.status !== 503) throw new Error(`${method} ${url}: ${answer.status} ${text}`)
    await Bun.sleep(1_000 * Number(answer.headers.get('retry-after') ?? 1))
  }
}

const nano = (usd: number): bigint => BigInt(Math.round(usd * 1e9))

/** The limits of a key's own. */
type Own = { readonly cap?: number; readonly month?: number; readonly stopAt?: number; readonly rpm?: number }

const owns: readonly Own[] = [
  {},
  { cap: 0.2 },
  { month: 0.3 },
  { rpm: 30 },
  { stopAt: 1 },
  {},
  {},
  {},
  { cap: 0.02 },
  { cap: 0.15 },
]
/** The key of a single caller, whose every call may hold all that is left under its cap. */
const CAPPED = 9
/** Keys that are bound to the sub-wallet of their wallet; the others name it. */
const BOUND = [6, 7]
const LINE_USD = 0.5
const SUB_USD = 0.4

const optionsOf = ({ cap, month, stopAt, rpm }: Own): string[] =>
  Object.entries({ '--spend-cap': cap, '--monthly-cap': month, '--stop-at': stopAt, '--rpm': rpm }).flatMap(
    ([name, value]) => (value === undefined ? [] : [name, String(value)]),
  )

type SetUp = {
  readonly program: string
  readonly environment: Environment
  readonly address: string
}

/**
 * Ten keys on three wallets: one wallet nearly empty, one key with each limit. Two of the wallets have a credit line, a
 * daily limit and a sub-wallet that one key is bound to and others name; their keys are below the one that made it. One key is for revocations, two for payers by
 * x402.
 */
export const setUpKeys = async ({ program, environment, address }: SetUp) => {
  const run = (...args: string[]) => command(program, environment, ...args)
  // The long streams of the first key must never lack money, however long the run; the day of the middle wallet ends
  // before its money does.
  const funds = [10_000, 5, 0.05]
  const days = [5_000, 1.5]
  const wallets = await Promise.all(
    funds.map(async (usd, place) => {
      const { id } = await run('wallet', 'create', '--name', `wallet ${place}`)
      await run('wallet', 'fund', '--wallet', id, '--usd', String(usd))
      if (place < 2) await run('credit', 'grant', '--usd', String(LINE_USD), '--wallet', id)
      return id as string
    }),
  )
  const create = async (label: string, place: number, ...more: string[]) => {
    const made = await run('key', 'create', '--label', label, '--wallet', wallets[place]!, ...more)
    return { token: made.key as string, id: made.id as string }
  }
  const governors = await Promise.all(
    days.map((_usd, place) => create(`governor ${place}`, place, '--can-manage', 'on')),
  )
  /** Below the governor of the wallet, if it has one, whose sub-wallet then serves the key. */
  const load = async (index: number, ...more: string[]) => {
    const [label, place] = [`load ${index}`, index % 3]
    const options = [...optionsOf(owns[index]!), ...more]
    const above = governors[place]
    if (above === undefined) return create(label, place, ...options)
    const made = await run('key', 'child', '--label', label, '--parent', above.id, ...options)
    return { token: made.key as string, id: made.id as string }
  }
  const subs = await Promise.all(
    governors.map(async ({ token }, place) => {
      await say(`${address}/api/wallet/rules`, 'PUT', token, { daily_limit_usd: days[place] })
      const sub = { label: 's', budget_usd: SUB_USD }
      return (await say(`${address}/api/wallet/sub-wallets`, 'POST', token, sub)).id as string
    }),
  )
  const made = await Promise.all(
    owns.map((_own, index) =>
      BOUND.includes(index) ? load(index, '--sub-wallet', subs[index % 3]!) : load(index),
    ),
  )
  const [payer, claimant, revocable, jobs, batches] = await Promise.all(
    ['payer', 'claimant', 'revocations', 'jobs', 'batches'].map((label) => create(label, 0)),
  )
  const limitsOf =
    (index: number): LoadKey['limits'] =>
    (mode, named) => {
      const place = index % 3
      const { cap, month, stopAt } = owns[index]!
      const own = (name: string, usd: number | undefined): Limit[] =>
        usd === undefined ? [] : [{ name: `${name} of key ${index}`, room: nano(usd) }]
      const shared = (name: string, usd: number | undefined): Limit[] =>
        usd === undefined ? [] : [{ name: `${name} ${place}`, room: nano(usd) }]
      return [
        ...own('cap', cap),
        ...own('month', month),
        ...(named || BOUND.includes(index) ? shared('sub-wallet', SUB_USD) : []),
        ...shared('day', days[place]),
        ...(mode === 'mpp' ? shared('line', LINE_USD) : shared('wallet', funds[place]! - (stopAt ?? 0))),
      ]
    }
  const keys: LoadKey[] = made.map((key, index) => ({
    ...key,
    onCredit: index % 3 < 2,
    sub: BOUND.includes(index) ? undefined : subs[index % 3],
    limits: limitsOf(index),
  }))
  return {
    keys: keys.slice(0, CAPPED),
    payers: [payer!, claimant!] as const,
    rich: keys[0]!,
    capped: keys[CAPPED]!,
    revocable: revocable!.token,
    jobs: jobs!.token,
    batches: batches!.token,
    rpmKey: keys[3]!.id,
    rpm: 30,
  }
}

/**
 * Budgets of tags in a history: a default for each end user, and two of teams, of which one is lowered to nothing and
 * opened again. Three in ten histories have them.
 */
import type { Book } from '../../src/book/contract.ts'
import { Refusal } from '../../src/core/refusal.ts'
import type { Store } from '../../src/store/port.ts'
import { type Tags, tagPathOf } from '../../src/tenancy/tags.ts'
import { byTest } from '../by-test.ts'
import type { Stage } from './stage.ts'

const USD = 1_000_000n
const walletId = 'w'
const users = ['ann', 'bea', 'cyd', 'dot', 'eve'] as const
/** How many users get budgets of their own; the others have one together. */
const VALUES_MAX = 3
/** Histories lie in two days, weeks and months. */
const PERIODS = 2n

type Parts = Pick<Stage, 'world' | 'hit' | 'fail' | 'guard'> & {
  readonly store: () => Store
  readonly isLoading: () => boolean
}

/** What a call is for, as its lease has it. */
export type Tagged = { readonly tags: Tags; readonly path: string | undefined }

export const createTags = ({ world, hit, fail, guard, store, isLoading }: Parts) => {
  const scene = world.draws('tags')
  const isOn = scene.random() < 0.3
  const teamCap = BigInt(scene.pick(4, 60)) * USD
  const userCap = BigInt(scene.pick(4, 40)) * USD
  const userPeriod =
    (['spendCap', 'monthlyCap', 'weeklyCap', 'dailyCap'] as const)[scene.pick(0, 3)] ?? 'spendCap'
  const charged = new Map<string, bigint>()
  let closedAt = Number.POSITIVE_INFINITY
  /** Then all calls are for the one that is closed, so that processes have leases of it. */
  let closing = false
  let serial = 0

  const put = (tag: string, value: string, caps: object, more: object = {}) =>
    store().tagBudgets.putTagBudget({ id: `bud_${++serial}`, walletId, tag, value, caps, ...more }, byTest)

  const setBlue = (cap: bigint) => put('team', 'blue', { spendCap: cap })

  const setUp = async (): Promise<void> => {
    if (!isOn) return
    await put(
      'user',
      '',
      { [userPeriod]: userCap },
      { valuesMax: VALUES_MAX, beyond: scene.random() < 0.5 ? 'other' : 'refuse' },
    )
    await put('team', 'red', { spendCap: teamCap })
    await setBlue(teamCap)
  }

  /** What a call is for; undefined for most. */
  const of = async (book: Book, call: string): Promise<Tagged | Refusal | undefined> => {
    if (!isOn) return undefined
    const draws = world.draws(`tags of ${call}`)
    if (draws.random() < 0.4) return undefined
    const some = {
      ...(draws.random() < 0.7 ? { user: users[draws.pick(0, users.length - 1)] ?? '' } : {}),
      ...(draws.random() < 0.6 ? { team: draws.random() < 0.5 ? 'red' : 'blue' } : {}),
      feature: 'none that has a budget',
    }
    const tags: Tags = closing ? { team: 'blue' } : some
    const rules = await book.rules(walletId)
    return rules instanceof Refusal ? rules : { tags, path: tagPathOf(tags, rules.budgeted ?? []) }
  }

  /** Lowers a budget to nothing through one process, and opens it again a while after that was acknowledged. */
  const close = async (book: Book, rush: () => void): Promise<void> => {
    if (!isOn || closing) return
    closing = true
    rush()
    await new Promise<void>((resolve) => world.after(10, resolve))
    const set = await setBlue(1n)
    if (set === 'too_many') return fail('a budget could not be set')
    const known = await book.untilKnown(set.at).then(
      () => true,
      () => false,
    )
    if (known) {
      closedAt = world.now()
      hit('closed budget acknowledged')
      rush()
    }
    world.after(scene.pick(200, 2_000), () => {
      closing = false
      closedAt = Number.POSITIVE_INFINITY
      if (isLoading()) guard(setBlue(teamCap))
    })
  }

  const admitted = ({ tags }: Tagged): void => {
    hit('admitted under a budget')
    if (tags.team === 'blue' && world.now() > closedAt)
      fail('admitted under a budget that was lowered to nothing')
  }

  /** It was charged so much. */
  const ended = ({ tags }: Tagged, cost: bigint): void => {
    for (const [tag, value] of Object.entries(tags)) {
      const name = `${tag}=${value}`
      charged.set(name, (charged.get(name) ?? 0n) + cost)
    }
  }

  /** Nothing was charged beyond a budget, by books of the callers; and no more users have one than may. */
  const check = async (): Promise<void> => {
    if (!isOn) return
    for (const team of ['team=red', 'team=blue'])
      if ((charged.get(team) ?? 0n) > teamCap) fail(`${team} was charged ${charged.get(team)} of ${teamCap}`)
    const most = userPeriod === 'spendCap' ? userCap : userCap * PERIODS
    for (const user of users)
      if ((charged.get(`user=${user}`) ?? 0n) > most)
        fail(`user=${user} was charged ${charged.get(`user=${user}`)} of ${most}`)
    const all = await store().tagBudgets.tagBudgets(walletId, { tag: 'user', most: 100 })
    const own = all.filter(({ value }) => value !== '' && value !== 'other')
    if (own.length > VALUES_MAX) fail(`${own.length} users have budgets`)
    if (own.length === VALUES_MAX) hit('all budgets of users made')
    for (const { value, held } of all)
      if (held !== 0n) fail(`user=${value} holds ${held} after everything ended`)
  }

  return { isOn, setUp, of, close, admitted, ended, check }
}

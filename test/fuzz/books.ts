/** What the books must say after each step: the vendors' bills for sound answers, and the costs in the answers. */

import type { Nano } from '../../src/core/money.ts'
import { nanoFromDecimal } from '../../src/core/money.ts'
import type { TestServer } from '../server/harness.ts'
import type { Answered } from './answer.ts'
import type { Served } from './vendors.ts'

type Step = {
  readonly answers: readonly Answered[]
  readonly served: readonly Served[]
  /** The house's earnings in it. */
  readonly charged: Nano
  /** Whether no deadline of the server's can have passed. */
  readonly quick: boolean
}

/** The house's earnings by now. */
export const earned = (server: TestServer): Promise<Nano> => server.store.ledger.balance('revenue')

const namedCost = ({ headers }: Answered): Nano | undefined => {
  const cost = headers.get('x-cost-usd')
  if (cost === null || headers.has('idempotent-replayed')) return undefined
  return nanoFromDecimal(cost)
}

/** What does not fit between the answers, the vendors' bills and the charge. */
export const wrongCharge = ({ answers, served, charged, quick }: Step): string | undefined => {
  if (charged < 0n) return `${charged} nano-dollars were charged`
  if (served.length === 0)
    return charged === 0n ? undefined : `${charged} were charged and no vendor was asked`
  const [only, ...others] = answers
  const said = only === undefined || others.length > 0 ? undefined : namedCost(only)
  if (said !== undefined && said !== charged)
    return `the caller was told ${said}, and ${charged} were charged`
  if (!quick || served.some(({ cost }) => cost === undefined)) return undefined
  const due = served.reduce((sum, { cost }) => sum + (cost ?? 0n), 0n)
  if (due !== charged) return `the vendors bill ${due}, and ${charged} were charged`
  // Some copies are told to come again; one with the answer is enough.
  const failed = answers.find(({ status }) => status >= 500)
  return failed === undefined || answers.some(({ status }) => status === 200)
    ? undefined
    : `a sound answer of the vendor became a ${failed.status}`
}

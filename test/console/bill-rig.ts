/** A reseller whose tenants have used something in October 2026, on the second of November. */
import { nanoFromDecimal } from '../../src/core/money.ts'
import { followingClock } from '../following-clock.ts'
import { chat, completion, jsonOf } from '../server/harness.ts'
import type { TestEngine } from '../store/engines.ts'
import { startConsoleOn, type TestConsole, type Visitor } from './rig.ts'

export const PROFILE = {
  name: 'Größe & Söhne GmbH',
  address: 'Łódzka 5\n10115 Berlin',
  tax_id: 'DE123456789',
  email: 'billing@reseller.example',
  currency: 'EUR',
  // Calls of a test cost little: with this rate their cents are worth rounding.
  usd_rate: '123456.789',
  terms_days: 14,
  taxes: [{ name: 'VAT', percent: 19 }],
  prefix: 'GS-',
  datev: { consultant: 29_098, client: 55_003, revenue_account: 8400, debtor_account: 10_000 },
}

/** One red pixel. */
export const LOGO =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

type Tenant = { readonly id: string; readonly key: string; readonly label: string }

type Setup = Parameters<typeof startConsoleOn>[1]

/** The ledger's clock, which stands in October until it is moved on. People sign in by the real one. */
export const october = () => {
  const state = { at: Date.parse('2026-10-30T22:10:00Z') }
  const now = () => state.at
  return {
    setup: { now, clock: followingClock(now) },
    november: () => {
      state.at = Date.parse('2026-11-02T09:00:00Z')
    },
  }
}

/** Makes `many` tenants that call; returns them with what each was charged in nano-USD, by label. */
export const seedTenants = async (it: TestConsole, owner: Visitor, many: number) => {
  const list = Array.from({ length: many }, (_, at) => ({
    label: `Tenant ${at + 1}`,
    reference: `C-${at + 1}`,
  }))
  const made = await jsonOf(await owner.ask('POST', '/tenants', { tenants: list }))
  const tenants: readonly Tenant[] = made.data
  const call = async ({ key }: Tenant, output: number): Promise<bigint> => {
    it.answerWith(() =>
      completion('x', { prompt_tokens: 11, completion_tokens: output, total_tokens: 11 + output }),
    )
    const response = await it.post('/v1/chat/completions', chat({ max_tokens: 50 }), {}, key)
    if (response.status !== 200) throw new Error(await response.text())
    await response.text()
    return nanoFromDecimal(response.headers.get('x-cost-usd') ?? '') ?? -1n
  }
  const charged = new Map<string, bigint>()
  for (const [at, tenant] of tenants.entries())
    charged.set(tenant.label, (await call(tenant, at + 1)) + (await call(tenant, 50 - 2 * at)))
  await value(owner.ask('PUT', '/tenants/price', { margin_percent: 20, from_month: '2026-10' }))
  return { tenants, charged }
}

export const startReseller = async (engine: TestEngine, many: number, setup: Setup = {}) => {
  const time = october()
  const it = await startConsoleOn(engine, { ...setup, ...time.setup })
  const owner: Visitor = await it.visit('owner@example.com', 'owner')
  return { ...it, ...time.setup, november: time.november, owner, ...(await seedTenants(it, owner, many)) }
}

export type Reseller = Awaited<ReturnType<typeof startReseller>>

/** What was answered, which must have that status. */
export const value = async (response: Promise<Response>, status = 200) => {
  const answer = await response
  const body = await jsonOf(answer)
  if (answer.status !== status) throw new Error(`${answer.status}: ${JSON.stringify(body)}`)
  return body
}

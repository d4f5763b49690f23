/** Acts on who bills and who is billed: the organisation's profile, and the billing details of its tenants. */
import { z } from 'zod'
import { kindOf } from '../../assets/kind.ts'
import { line, namedObject, text } from '../../core/body.ts'
import { nanoFromDecimal } from '../../core/money.ts'
import { invalid, refuse } from '../../core/refusal.ts'
import { storable } from '../../core/storable.ts'
import type { Biller } from '../../store/tenants/bill-port.ts'
import { type Acting, act } from '../act.ts'
import { orgOf } from '../org-of.ts'
import { email, name } from '../read.ts'
import { named, target } from '../tenants/tenants.ts'
import { drawing } from './drawing.ts'

const filled = (most: number) =>
  line(1, most, `must have 1 to ${most} characters`).regex(/\S/, 'must be one line of text')
const address = text(1, 500, 'must have 1 to 500 characters')
  .regex(/^[^\p{Cc}\n]+(\r?\n[^\p{Cc}\n]+){0,7}$/u, 'must have one to eight lines of text')
  .transform((lines) => storable(lines.replaceAll('\r', '')))
const partyMembers = {
  name: filled(200).transform(storable),
  address,
  tax_id: filled(50).transform(storable).optional().describe('Such as a VAT number'),
  email: email.optional(),
}

const percentForm = 'must be a percentage from 0 to 100 with at most three decimals'
const tax = z.strictObject({
  name: filled(40).transform(storable).describe('Such as VAT'),
  percent: z
    .number(percentForm)
    .min(0, percentForm)
    .max(100, percentForm)
    .refine((value) => Math.abs(value * 1_000 - Math.round(value * 1_000)) < 1e-6, percentForm),
})

const rateForm = 'must be what one USD costs, as a decimal text such as 0.92 with at most nine decimals'
const accountForm = 'must be an account of 3 to 9 digits'
const account = z.int(accountForm).min(100, accountForm).max(999_999_999, accountForm)
const numberAt = (least: number, most: number) => {
  const form = `must be a whole number from ${least} to ${most}`
  return z.int(form).min(least, form).max(most, form)
}
const datev = z.strictObject({
  consultant: numberAt(1_001, 9_999_999).describe('Beraternummer'),
  client: numberAt(1, 99_999).describe('Mandantennummer'),
  revenue_account: account.describe('Such as 8400 or 4400, which DATEV splits by its tax'),
  debtor_account: account.describe('Of tenants without one of their own, such as 10000'),
})

const profileShape = {
  ...partyMembers,
  currency: z
    .string('must be a currency such as EUR')
    .refine((code) => Intl.supportedValuesOf('currency').includes(code), 'must be a currency such as EUR'),
  usd_rate: z
    .string(rateForm)
    .refine((rate) => (nanoFromDecimal(rate) ?? 0n) > 0n, rateForm)
    .describe('What one USD costs in the currency; of invoices that are closed from now on'),
  terms_days: numberAt(0, 365).describe('Days from an invoice until it is due'),
  taxes: z.array(tax).max(5, 'may have five lines at most'),
  prefix: z
    .string('must be a text')
    .regex(
      /^([A-Za-z0-9/-]{0,11}[A-Za-z/-])?$/,
      'must have at most 12 letters, digits, / and -, and end with no digit',
    )
    .describe('Numbers of invoices begin with it'),
  datev: datev.optional(),
}
const billerShown = namedObject('Biller', { ...profileShape, logo: z.string().nullable() })

/** The profile with its logo as an image, not a hash. */
export const shownBiller = async (
  { control }: Pick<Acting, 'control'>,
  orgId: string,
  { logo, ...biller }: Biller,
) => {
  const image = logo === undefined ? undefined : await control.store.bills.logo(orgId, logo)
  return { ...biller, logo: image ?? null }
}

/** The profile that invoices need. Throws what to do if there is none. */
export const billerOf = async ({ control }: Acting, orgId: string): Promise<Biller> => {
  const found = await control.store.bills.biller(orgId)
  if (found === undefined)
    throw refuse(
      'not_ready',
      "The organisation has no billing profile yet: set its 'name', 'address' and 'currency' first.",
    )
  return found
}

export const billerGet = act({
  name: 'biller.get',
  summary: 'Who bills the tenants: name, address, tax, currency, terms, logo.',
  reads: ['tenants', 'statements', 'invoices'],
  input: { organisation: name.optional() },
  shows: namedObject('BillerGot', { profile: billerShown.nullable().describe('null before it was set') }),
  does: async (acting, { organisation }) => {
    const orgId = orgOf(acting, organisation)
    const biller = await acting.control.store.bills.biller(orgId)
    return { profile: biller === undefined ? null : await shownBiller(acting, orgId, biller) }
  },
})

const MOST_LOGO = 48 * 1024
const MOST_SIDE = 1_000
const logoForm = `must be a PNG or JPEG in base64, of at most ${MOST_LOGO / 1024} KB and ${MOST_SIDE} pixels a side`

/** An image that a page and a PDF can show; drawn once here, so that no invoice fails over it later. */
const checkLogo = async (image: string): Promise<void> => {
  const bytes = Buffer.from(image, 'base64')
  const { mediaType, width = Infinity, height = Infinity } = (await kindOf(bytes, 'image')) ?? {}
  const fits = bytes.length <= MOST_LOGO && width <= MOST_SIDE && height <= MOST_SIDE
  if ((mediaType !== 'image/png' && mediaType !== 'image/jpeg') || !fits)
    throw invalid('logo', `'logo' ${logoForm}.`)
  const { canDraw } = await drawing()
  if (!(await canDraw(bytes)))
    throw invalid('logo', "'logo' is damaged, or of a form that a PDF cannot hold.")
}

export const billerPut = act({
  name: 'biller.put',
  summary: 'Sets who bills the tenants; invoices that are closed already stay as they are.',
  changes: ['invoices'],
  input: {
    organisation: name.optional(),
    ...profileShape,
    logo: text(1, MOST_LOGO * 2, logoForm)
      .nullable()
      .optional()
      .describe('A PNG or JPEG in base64; null: none; absent: as before'),
  },
  shows: billerShown,
  does: async (acting, { organisation, logo, ...profile }) => {
    const { bills } = acting.control.store
    const orgId = orgOf(acting, organisation)
    if (profile.currency === 'USD' && nanoFromDecimal(profile.usd_rate) !== 1_000_000_000n)
      throw invalid('usd_rate', "'usd_rate' of USD is 1.")
    if (typeof logo === 'string') await checkLogo(logo)
    const hash =
      typeof logo === 'string'
        ? new Bun.CryptoHasher('sha256').update(logo).digest('hex')
        : logo === null
          ? undefined
          : (await bills.biller(orgId))?.logo
    const biller = { ...profile, ...(hash === undefined ? {} : { logo: hash }) }
    if (!(await bills.putBiller(orgId, biller, logo ?? undefined, acting.who.actor))) acting.unchanged?.()
    return shownBiller(acting, orgId, biller)
  },
})

const billingShape = {
  ...partyMembers,
  debtor_account: account.optional().describe('In the books of the reseller, for DATEV'),
}
const billingShown = namedObject('TenantBilling', billingShape)

export const tenantBillingGet = act({
  name: 'tenant.billing_get',
  summary: 'To whom a tenant’s invoices are written.',
  reads: ['tenants', 'statements', 'invoices'],
  input: named,
  shows: namedObject('TenantBillingGot', { billing: billingShown.nullable() }),
  does: async (acting, { organisation, tenant: id }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    return { billing: (await acting.control.store.bills.tenantBillings(orgId)).get(tenant.id) ?? null }
  },
})

export const tenantBillingPut = act({
  name: 'tenant.billing',
  summary: 'Sets to whom a tenant’s invoices are written, from the next one on.',
  changes: ['invoices'],
  input: { ...named, ...billingShape },
  shows: billingShown,
  does: async (acting, { organisation, tenant: id, ...details }) => {
    const { orgId, tenant } = await target(acting, organisation, id)
    const put = await acting.control.store.bills.putTenantBilling(orgId, tenant.id, details, acting.who.actor)
    if (!put) acting.unchanged?.()
    return details
  },
})

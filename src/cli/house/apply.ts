/** Makes the house as a file says, by acts: each difference is told, and made unless it is only to be shown. */
import { isDeepStrictEqual } from 'node:util'
import { type Act, bodyOf, type Control, perform, type Shape } from '../../control/act.ts'
import { written } from '../../control/face.ts'
import { keyGet } from '../../control/keys.ts'
import { creditGrant } from '../../control/money/money.ts'
import { rulesChange, rulesGet } from '../../control/money/rules.ts'
import { organisationGet, organisationPut } from '../../control/organisations.ts'
import { keyPut } from '../../control/put-key.ts'
import { isoOf } from '../../control/read.ts'
import { readLimits } from '../../control/read-limits.ts'
import { monthOfPrice, tenantMargin, tenantMargins } from '../../control/tenants/margins.ts'
import { tenantGet } from '../../control/tenants/tenants.ts'
import { whoIsCommand } from '../../control/who.ts'
import { readAs } from '../../core/body.ts'
import type { JsonObject } from '../../core/json-body.ts'
import { invalid, must, Refusal, refuse } from '../../core/refusal.ts'
import { monthOf } from '../../core/time.ts'
import { type LimitRow, type LimitValue, limitList } from '../../tenancy/limits.ts'
import { limitsOfBody } from '../../tenancy/limits-body.ts'
import { marginIn } from '../../tenancy/margin.ts'
import { withModelIds } from '../../tenancy/model-patterns.ts'
import { rulesChangeOf } from '../../tenancy/rules-body.ts'
import { shownKeyTags } from '../../tenancy/tags.ts'
import { changedRules, rulesAs } from '../../tenancy/wallet-rules.ts'
import type { WantedOrganisation } from './house-file.ts'

type Members = Readonly<Record<string, unknown>>

type Difference = { readonly field: string; readonly before: unknown; readonly after: unknown }

export type Change = {
  readonly what: 'organisation' | 'rules' | 'credit' | 'key' | 'margin'
  readonly id: string
  readonly how: 'create' | 'change'
  readonly fields: readonly Difference[]
  /** The value of a key that was made. */
  readonly key?: string
}

export type Applying = {
  readonly control: Control
  readonly dryRun: boolean
  /** Is told each change as soon as it is made: if a later one fails, the value of a key that was made is known nowhere else. */
  readonly tell: (change: Change) => void
}

const as = <Input extends Shape, Shown>({ control }: Applying, act: Act<Input, Shown>, input: JsonObject) =>
  perform(control, whoIsCommand('apply'), act, () => input)

/** What an act shows, or undefined if there is no such thing yet. */
export const found = <Input extends Shape, Shown>(it: Applying, act: Act<Input, Shown>, input: JsonObject) =>
  as(it, act, input).catch((thrown: unknown) => {
    if (thrown instanceof Refusal && thrown.code === 'not_found') return undefined
    throw thrown
  })

const inText = (value: unknown): unknown => written(value ?? null, 'text')
/** Members of an object have no order. */
const differ = (one: unknown, other: unknown): boolean => !isDeepStrictEqual(one, other)

type Step = Pick<Change, 'what' | 'id'> & {
  /** As it is; undefined if there is none. */
  readonly now: Members | undefined
  readonly wanted: Members
  /** Resolves with the value of the key that it made, if it did. */
  readonly does: () => Promise<string | null | undefined>
}

const step = async ({ dryRun, tell }: Applying, { what, id, now, wanted, does }: Step): Promise<void> => {
  const fields = Object.entries(wanted)
    .map(([field, after]) => ({ field, before: inText(now?.[field]), after: inText(after) }))
    .filter(({ before, after }) => differ(before, after))
  if (now !== undefined && fields.length === 0) return
  const key = dryRun ? undefined : await does()
  const how = now === undefined ? ('create' as const) : ('change' as const)
  tell({ what, id, how, fields, ...(key == null ? {} : { key }) })
}

const rules = async (it: Applying, organisation: string, sent: JsonObject): Promise<void> => {
  const asked = must(readAs(bodyOf(rulesChange, Object.keys(rulesChange.input)), sent)) as Parameters<
    typeof rulesChangeOf
  >[0]
  const change = must(withModelIds(rulesChangeOf(asked), it.control.offering.catalogue))
  const all: Members = rulesAs(changedRules({}, change), (nano) => nano)
  return step(it, {
    what: 'rules',
    id: organisation,
    now: (await found(it, rulesGet, { organisation })) ?? {},
    wanted: Object.fromEntries(Object.keys(sent).map((name) => [name, all[name]])),
    does: async () => {
      await as(it, rulesChange, { organisation, ...sent })
      return undefined
    },
  })
}

const credit = async (
  it: Applying,
  organisation: string,
  sent: JsonObject,
  now: Members | null | undefined,
): Promise<void> =>
  step(it, {
    what: 'credit',
    id: organisation,
    now: now ?? undefined,
    wanted: must(readAs(bodyOf(creditGrant), sent)) as Members,
    does: async () => {
      await as(it, creditGrant, { organisation, ...sent })
      return undefined
    },
  })

const shownAs = ({ form }: LimitRow, value: LimitValue | null | undefined): unknown =>
  form === 'time' && typeof value === 'number' ? isoOf(value) : value

/** The limits as they are stored. A model that is not sold any more is refused where the key has to change, and not before. */
const limitsOf = ({ control }: Applying, read: Members) => {
  try {
    return readLimits(control, read)
  } catch (thrown) {
    if (thrown instanceof Refusal) return limitsOfBody(read)
    throw thrown
  }
}

/** What `key.put` gives a key: all its limits, and what else the file says. */
const key = async (it: Applying, id: string, sent: JsonObject, wallet: string): Promise<void> => {
  const { with_children: _w, if_version: _v, key: _k, ...takes } = keyPut.input
  const read = must(readAs(bodyOf(keyPut, Object.keys(takes)), sent)) as Members
  const { aliases, tags, guardrails, ...limits } = limitsOf(it, read)
  const known = await found(it, keyGet, { key: id })
  // It shows a key that has expired as disabled, and nobody enables that.
  const now = known && { ...known, disabled: known.disabled_reason !== null }
  const placed = ['label', 'can_manage', 'disabled', 'parent', 'sub_wallet', 'wallet']
  return step(it, {
    what: 'key',
    id,
    now,
    wanted: {
      ...Object.fromEntries(placed.filter((name) => read[name] != null).map((name) => [name, read[name]])),
      ...Object.fromEntries(limitList.map(([name, row]) => [row.member, shownAs(row, limits[name])])),
      aliases,
      tags: tags && shownKeyTags(tags),
      guardrails,
    },
    does: async () => {
      const payer = sent.parent === undefined ? { wallet } : {}
      const put = (more: JsonObject) => as(it, keyPut, { key: id, ...payer, ...sent, ...more })
      // A key is made enabled.
      const made =
        now === undefined && sent.disabled === true ? await put({ disabled: undefined }) : undefined
      const { key: value } = await put({})
      return made?.key ?? value
    },
  })
}

/** The margin in the month from which a change would apply: the next one, if tenants were told the price of this one. */
const marginThen = async ({ control }: Applying, orgId: string, tenantId?: string) => {
  const acting = { control, who: whoIsCommand('apply') }
  const priced = { orgId, ...(tenantId === undefined ? {} : { tenantId }), from: undefined }
  const made = (await control.store.reports.walletsOf(orgId)).length > 0
  const month = made ? await monthOfPrice(acting, priced) : monthOf(control.clock.now())
  return marginIn(await control.store.tenants.margins(orgId), month, tenantId)
}

const margins = async (
  it: Applying,
  organisation: string,
  { margin_percent: percent, tenants = {} }: WantedOrganisation,
): Promise<void> => {
  if (percent !== undefined)
    await step(it, {
      what: 'margin',
      id: organisation,
      now: { margin_percent: (await marginThen(it, organisation)).basisPoints / 100 },
      wanted: { margin_percent: percent },
      does: async () => {
        await as(it, tenantMargins, { organisation, margin_percent: percent })
        return undefined
      },
    })
  for (const [tenant, { margin_percent: own }] of Object.entries(tenants)) {
    const tenantId = (await found(it, tenantGet, { organisation, tenant }))?.id ?? tenant
    const { own: hasOwn, basisPoints } = await marginThen(it, organisation, tenantId)
    await step(it, {
      what: 'margin',
      id: tenant,
      now: { margin_percent: hasOwn ? basisPoints / 100 : null },
      wanted: { margin_percent: own },
      does: async () => {
        await as(it, tenantMargin, { organisation, tenant, margin_percent: own })
        return undefined
      },
    })
  }
}

/** The keys, each behind the one that it is below, in whichever order the file has them. */
export const parentsFirst = (keys: Readonly<Record<string, JsonObject>>): ReadonlyMap<string, JsonObject> => {
  const placed = new Map<string, JsonObject>()
  const place = (id: string, below: readonly string[]): void => {
    const sent = keys[id]
    if (sent === undefined || placed.has(id)) return
    if (below.includes(id)) throw invalid('parent', `'${id}' is below itself; correct its 'parent'.`)
    if (typeof sent.parent === 'string') place(sent.parent, [...below, id])
    placed.set(id, sent)
  }
  for (const id of Object.keys(keys)) place(id, [])
  return placed
}

/** A refusal says what it is about: a file names each member many times. */
export const about = async (what: string, doing: Promise<void>): Promise<void> => {
  try {
    await doing
  } catch (thrown) {
    throw thrown instanceof Refusal ? refuse(thrown.code, `${what}: ${thrown.message}`, thrown) : thrown
  }
}

/** Applies one organisation of the file, or only tells what would change. */
export const applyOrganisation = async (it: Applying, organisation: string, wanted: WantedOrganisation) => {
  const before = await found(it, organisationGet, { organisation })
  await step(it, {
    what: 'organisation',
    id: organisation,
    now: before,
    wanted: { name: wanted.name },
    does: async () => {
      await as(it, organisationPut, { organisation, name: wanted.name })
      return undefined
    },
  })
  const wallet = (await found(it, organisationGet, { organisation }))?.wallet ?? ''
  if (wanted.rules !== undefined)
    await about(`rules of ${organisation}`, rules(it, organisation, wanted.rules))
  if (wanted.credit !== undefined)
    await about(`credit of ${organisation}`, credit(it, organisation, wanted.credit, before?.credit))
  for (const [id, sent] of parentsFirst(wanted.keys ?? {}))
    await about(`key ${id}`, key(it, id, sent, wallet))
  await about(`margins of ${organisation}`, margins(it, organisation, wanted))
}

/**
 * LiteLLM's organisations, teams, users and keys as a house: each organisation has a wallet, and who has a budget becomes a
 * key above the keys that it binds, whose value nobody has. What has no place here is told; nothing becomes wider.
 */
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../core/json-body.ts'
import { counted } from '../run/run-command.ts'
import {
  type Budget,
  type Imported,
  type ImportedOrganisation,
  idOf,
  labelFrom,
  membersOf,
  RATE_MOST,
  sha256,
} from './imported.ts'
import { budgetOf, spentOf, within } from './litellm-budget.ts'
import { type Budgeted, instantOf, type LiteLlmRows, readLiteLlm } from './litellm-rows.ts'
import { type ModelsSold, modelsIn } from './sold-models.ts'

type Body = { -readonly [Name in keyof JsonObject]: JsonObject[Name] }

/** The value in LiteLLM's documents, which everybody knows. */
const EVERYBODYS = sha256('sk-1234')
/** The team of the keys by which LiteLLM's own pages are signed in. */
const PAGES = 'litellm-dashboard'
const NO_ORGANISATION = 'org_litellm'

/** What binds: limits as a body, and a budget. */
type Limits = { readonly body: Body; readonly budget: Budget | undefined }
/** What can bind keys, and where it is. */
type Holder = Limits & { readonly id: string; readonly org: string }

class Import {
  readonly told: string[] = []
  readonly organisations: Record<string, ImportedOrganisation> = {}
  keys = 0
  readonly #rows: LiteLlmRows
  readonly #sold: ModelsSold
  readonly #now: number
  /** The rows of each table by their ids. */
  readonly #byId = new Map<keyof LiteLlmRows, ReadonlyMap<unknown, unknown>>()
  readonly #holders = new Map<string, Holder | undefined>()

  constructor(rows: LiteLlmRows, sold: ModelsSold, now: number) {
    this.#rows = rows
    this.#sold = sold
    this.#now = now
  }

  #find<Name extends keyof LiteLlmRows, Id extends keyof LiteLlmRows[Name][number]>(
    table: Name,
    column: Id,
    id: LiteLlmRows[Name][number][Id] | undefined,
  ): LiteLlmRows[Name][number] | undefined {
    if (id === undefined) return undefined
    const rows: readonly LiteLlmRows[Name][number][] = this.#rows[table]
    const known = this.#byId.get(table) ?? new Map(rows.map((row) => [row[column], row]))
    this.#byId.set(table, known)
    return known.get(id) as LiteLlmRows[Name][number] | undefined
  }

  /** The limits of a row, no wider than those above it; what has no place is told. */
  #limits(who: string, row: Budgeted, above: Holder | undefined): Limits {
    const tell = (what: string): void => void this.told.push(`${who}: ${what}`)
    const named = this.#find('LiteLLM_BudgetTable', 'budget_id', row.budget_id)
    const body: Body = {}
    const budget = within(budgetOf(row, named, this.#now, tell), above?.budget, tell)
    for (const rate of ['rpm_limit', 'tpm_limit'] as const) {
      const limit = row[rate] ?? named?.[rate]
      if (limit !== undefined && limit <= 0) body.disabled = true
      else if (limit !== undefined && !(limit > Number(above?.body[rate])))
        body[rate] = Math.min(limit, RATE_MOST)
    }
    for (const name of ['soft_budget', 'max_parallel_requests'] as const) {
      const value = row[name] ?? named?.[name]
      if (value !== undefined) tell(`${name} ${value} has no place here`)
    }
    if (Object.keys(row.model_max_budget ?? {}).length > 0)
      tell('budgets of single models have no place here')
    const { allowed, unknown } = modelsIn(row.models ?? [], this.#sold, above?.body.allowed_models)
    if (unknown.length > 0) tell(`not sold here, or not allowed above it: ${unknown.join(', ')}`)
    if (allowed?.length === 0) {
      tell('none of its models is sold here, so it is disabled')
      body.disabled = true
    } else if (allowed !== undefined) body.allowed_models = allowed
    return { body, budget }
  }

  #organisation(theirs: string | undefined): string {
    const row = this.#find('LiteLLM_OrganizationTable', 'organization_id', theirs)
    const id = row === undefined ? NO_ORGANISATION : idOf('org', 'litellm', row.organization_id)
    this.organisations[id] ??= {
      name: row?.organization_alias ?? row?.organization_id ?? 'LiteLLM',
      keys: {},
    }
    return id
  }

  /** A key that binds those below it; the holder above where it would bind nothing. */
  #holder(
    kind: string,
    theirs: string,
    it: {
      readonly label: string
      readonly org: string
      readonly row: Budgeted
      readonly above: Holder | undefined
    },
  ): Holder | undefined {
    const name = `${kind} ${theirs}`
    if (this.#holders.has(name)) return this.#holders.get(name)
    const { above, label, org, row } = it
    const limits = this.#limits(`${kind} ${label}`, row, above)
    const id = idOf('key', kind, theirs)
    const binds = limits.budget !== undefined || Object.keys(limits.body).length > 0
    const holder = binds ? { id, org, ...limits } : above
    this.#holders.set(name, holder)
    if (holder !== undefined && holder !== above)
      this.#put(holder, above, {
        label: labelFrom(`${kind} ${label}`),
        // Nobody has this value.
        value_sha256: sha256(randomBytes(32)),
        // A rate that it lacks would be the plan's, and bind the keys below.
        rpm_limit: RATE_MOST,
        ...membersOf(limits.budget, spentOf(row, this.#now)),
        ...limits.body,
      })
    return holder
  }

  #put({ id, org }: Pick<Holder, 'id' | 'org'>, above: Holder | undefined, body: JsonObject): void {
    const keys = this.organisations[org]?.keys ?? {}
    keys[id] = { can_manage: false, ...(above === undefined ? {} : { parent: above.id }), ...body }
  }

  /** What binds a key, from its organisation down. */
  #above({
    team_id,
    project_id,
    user_id,
    organization_id,
  }: LiteLlmRows['LiteLLM_VerificationToken'][number]) {
    const team = this.#find('LiteLLM_TeamTable', 'team_id', team_id)
    const user = this.#find('LiteLLM_UserTable', 'user_id', user_id)
    const project = this.#find('LiteLLM_ProjectTable', 'project_id', project_id)
    const orgId = organization_id ?? team?.organization_id ?? user?.organization_id
    const org = this.#organisation(orgId)
    const ofOrg = this.#find('LiteLLM_OrganizationTable', 'organization_id', orgId)
    let above: Holder | undefined
    if (ofOrg !== undefined) {
      const label = ofOrg.organization_alias ?? ofOrg.organization_id
      above = this.#holder('organisation', ofOrg.organization_id, { label, org, row: ofOrg, above })
    }
    if (team !== undefined)
      above = this.#holder('team', team.team_id, {
        label: team.team_alias ?? team.team_id,
        org,
        row: team,
        above,
      })
    // A user's budget is for the keys of no team.
    else if (user !== undefined) {
      const label = user.user_alias ?? user.user_email ?? user.user_id
      above = this.#holder('user', user.user_id, { label, org, row: user, above })
    }
    if (project !== undefined) {
      const label = project.project_alias ?? project.project_id
      above = this.#holder('project', project.project_id, { label, org, row: project, above })
    }
    const aliases = this.#find('LiteLLM_ModelTable', 'id', team?.model_id)?.aliases ?? {}
    return { org, above, aliases, blocked: team?.blocked === true || project?.blocked === true }
  }

  key(row: LiteLlmRows['LiteLLM_VerificationToken'][number]): void {
    const label = row.key_alias ?? row.key_name ?? row.token.slice(0, 10)
    const who = `key ${label}`
    const skip = (why: string): void => void this.told.push(`${who}: left out, ${why}`)
    if (row.team_id === PAGES) return
    if (!/^[0-9a-f]{64}$/.test(row.token)) return void skip('its value is not stored as SHA-256')
    if (row.token === EVERYBODYS) return void skip('its value is sk-1234, which everybody knows')
    const expires = row.expires === undefined ? undefined : instantOf(row.expires)
    if (expires !== undefined && expires <= this.#now) return void skip(`it expired at ${row.expires}`)
    const { org, above, aliases, blocked } = this.#above(row)
    const { body, budget } = this.#limits(who, row, above)
    for (const name of ['permissions', 'allowed_routes', 'policies', 'object_permission_id'] as const)
      if (Object.keys(row[name] ?? {}).length > 0) this.told.push(`${who}: ${name} has no place here`)
    const named = Object.entries({ ...aliases, ...row.aliases }).flatMap(([alias, model]) => {
      const sold = this.#sold.find(String(model))
      if (sold === undefined)
        this.told.push(`${who}: its name '${alias}' is of '${String(model)}', which is not sold here`)
      return sold === undefined ? [] : [[alias, sold.id]]
    })
    this.keys++
    this.#put({ id: idOf('key', 'litellm', row.token.slice(0, 40)), org }, above, {
      label: labelFrom(label),
      value_sha256: row.token,
      value_prefix: (row.key_name ?? 'sk-…').slice(0, 10),
      ...(named.length === 0 ? {} : { aliases: Object.fromEntries(named) }),
      ...(expires === undefined ? {} : { expires_at: new Date(expires).toISOString() }),
      ...membersOf(budget, spentOf(row, this.#now)),
      ...body,
      ...(row.blocked === true || blocked || body.disabled === true || above?.body.disabled === true
        ? { disabled: true }
        : {}),
    })
  }

  /** What of the whole house has no place here. */
  rest(): void {
    const {
      LiteLLM_TeamMembership: members,
      LiteLLM_EndUserTable: users,
      LiteLLM_TagTable: tags,
    } = this.#rows
    const lacking = [
      ['of members within their team', members],
      ['of end users', users],
      ['of tags', tags],
    ] as const
    for (const [whose, rows] of lacking) {
      const count = rows.filter(({ budget_id }) => budget_id !== undefined).length
      const budgets = counted(count, `budget ${whose} has`, `budgets ${whose} have`)
      if (count > 0) this.told.push(`${budgets} no place here`)
    }
    const people = this.#rows.LiteLLM_UserTable.filter(({ user_email }) => user_email !== undefined).length
    const have = counted(people, 'person has', 'people have')
    if (people > 0) this.told.push(`${have} no account here; invite them with 'turnpike person'`)
  }
}

/** The house that their rows make; `now` in milliseconds. */
const houseFrom = (rows: LiteLlmRows, sold: ModelsSold, now: number): Imported => {
  const all = new Import(rows, sold, now)
  for (const row of rows.LiteLLM_VerificationToken) all.key(row)
  all.rest()
  return all
}

/** Reads the PostgreSQL of LiteLLM's proxy, or a JSON file with its tables. */
export const fromLiteLlm = async (from: string, sold: ModelsSold, now: number): Promise<Imported> =>
  houseFrom(await readLiteLlm(from), sold, now)

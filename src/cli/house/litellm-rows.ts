/**
 * What LiteLLM's proxy keeps, as rows: from its PostgreSQL, or from a file with the same tables as JSON. Only what is read
 * here need be there; older versions lack some columns and tables.
 * Source: the `schema.prisma` that LiteLLM publishes.
 */
import { z } from 'zod'
import { maybe, type RowsOf, readRows } from './read-rows.ts'

/** Their moments are of UTC, and do not say so; where they do, psql writes `+00` alone. */
export const instantOf = (text: string): number => {
  const whole = text.replace(/(:\d\d(?:\.\d+)?[+-]\d\d)$/, '$1:00')
  return Date.parse(/[Zz]|[+-]\d\d:?\d\d$/.test(whole) ? whole : `${whole}Z`)
}

const text = maybe(z.string())
const moment = maybe(z.string().refine((it) => !Number.isNaN(instantOf(it)), 'must be a time'))
const number = maybe(z.coerce.number())
const texts = maybe(z.array(z.string()))
const object = maybe(z.record(z.string(), z.unknown()))

const budgeted = {
  max_budget: number,
  soft_budget: number,
  budget_duration: text,
  budget_reset_at: moment,
  spend: number,
  tpm_limit: number,
  rpm_limit: number,
  max_parallel_requests: number,
  models: texts,
  model_max_budget: object,
}

const tables = {
  LiteLLM_VerificationToken: z.object({
    ...budgeted,
    budget_id: text,
    token: z.string(),
    key_name: text,
    key_alias: text,
    expires: moment,
    aliases: object,
    user_id: text,
    team_id: text,
    project_id: text,
    organization_id: text,
    blocked: maybe(z.boolean()),
    permissions: object,
    allowed_routes: texts,
    policies: texts,
    object_permission_id: text,
  }),
  LiteLLM_OrganizationTable: z.object({
    ...budgeted,
    budget_id: text,
    organization_id: z.string(),
    organization_alias: text,
  }),
  LiteLLM_TeamTable: z.object({
    ...budgeted,
    budget_id: text,
    team_id: z.string(),
    team_alias: text,
    organization_id: text,
    blocked: maybe(z.boolean()),
    model_id: number,
  }),
  LiteLLM_ProjectTable: z.object({
    ...budgeted,
    budget_id: text,
    project_id: z.string(),
    project_alias: text,
    team_id: text,
    blocked: maybe(z.boolean()),
  }),
  LiteLLM_UserTable: z.object({
    ...budgeted,
    budget_id: text,
    user_id: z.string(),
    user_alias: text,
    user_email: text,
    organization_id: text,
  }),
  LiteLLM_BudgetTable: z.object({ ...budgeted, budget_id: z.string() }),
  LiteLLM_ModelTable: z.object({ id: z.coerce.number(), aliases: object }),
  LiteLLM_TeamMembership: z.object({ user_id: z.string(), team_id: z.string(), budget_id: text }),
  LiteLLM_EndUserTable: z.object({ user_id: z.string(), budget_id: text }),
  LiteLLM_TagTable: z.object({ tag_name: z.string(), budget_id: text }),
} as const

export type LiteLlmRows = RowsOf<typeof tables>
/** What may have a budget, of its own or by name. */
export type Budgeted = Omit<LiteLlmRows['LiteLLM_BudgetTable'][number], 'budget_id'> & {
  readonly budget_id?: string | undefined
}

/** All rows, from the address of a PostgreSQL (`postgres://…`) or the path of a JSON file. */
export const readLiteLlm = (from: string): Promise<LiteLlmRows> =>
  readRows(from, tables, { needed: 'LiteLLM_VerificationToken', of: "LiteLLM's proxy" })

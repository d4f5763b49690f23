/** What a company's provider says of a person: its claims, and what the organisation's rule gives for the groups in them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { applyGroups } from '../../control/directory/rule.ts'
import { whoIsCommand } from '../../control/who.ts'
import { isObject, parseJson } from '../../core/json-body.ts'
import type { Gateway } from '../../gateway/parts/gateway.ts'
import type { Company } from '../../settings/companies.ts'
import { theHouse } from '../../store/people/event-port.ts'

type Claims = Readonly<Record<string, unknown>>

/** What an ID token says, unchecked. */
export const claimsOf = (token: string): Claims => {
  const claims = parseJson(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  return isObject(claims) ? claims : {}
}

/** The groups in a token; undefined where the provider says nothing of them. */
const groupsIn = ({ groupsClaim }: Company, claims: Claims | undefined): readonly string[] | undefined => {
  const groups = groupsClaim === undefined ? undefined : claims?.[groupsClaim]
  return Array.isArray(groups) ? groups.filter((one): one is string => typeof one === 'string') : undefined
}

/** Gives a person of the company's organisation what the rule has for their groups, if the provider lists them. */
export const regroup = async (
  gateway: Gateway,
  company: Company,
  personId: string,
  claims: Claims | undefined,
): Promise<void> => {
  const [orgId, groups] = [company.org, groupsIn(company, claims)]
  if (orgId === undefined || groups === undefined) return
  if ((await gateway.store.members.list({ orgId, personId })).length === 0) return
  const who = { ...whoIsCommand('groups'), actor: theHouse }
  await applyGroups({ control: gateway, who }, { orgId, personId }, groups)
}

/** What the provider says of the person while their sign-in is under way: the library keeps none of it. */
export const told = new AsyncLocalStorage<{ claims?: Claims | undefined }>()

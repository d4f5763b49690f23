/** Signing in and out, as bodies and answers. */
import { z } from 'zod'
import { email } from '../../control/read.ts'
import { text } from '../../core/body.ts'
import { roles } from '../../store/people/people-port.ts'
import { instant } from './shared.ts'

const password = text(12, 200, 'must have 12 to 200 characters')

const codeText = text(6, 20, 'must be a code of 6 digits, or a backup code')

export const signInBody = z
  .strictObject({
    email,
    password: text(1, 200, 'is required'),
    code: codeText.optional(),
  })
  .meta({ id: 'ConsoleSignIn' })
export const linkBody = z
  .strictObject({
    token: text(20, 100, 'must be the secret of a link'),
    password: password.optional(),
    name: text(1, 100, 'must be a name').optional(),
    code: codeText.optional(),
  })
  .meta({ id: 'ConsoleLink' })
export const askLinkBody = z.strictObject({ email }).meta({ id: 'ConsoleAskLink' })
export const signUpBody = z
  .strictObject({
    email,
    name: text(1, 100, 'must be a name'),
    organisation: text(1, 100, 'must be a name'),
  })
  .meta({ id: 'ConsoleSignUp' })
export const passwordBody = z
  .strictObject({ current: text(1, 200, 'must be the present password').optional(), password })
  .meta({ id: 'ConsolePassword' })
export const totpStartBody = z
  .strictObject({ password: text(1, 200, 'is required') })
  .meta({ id: 'ConsoleTotpStart' })
export const totpEndBody = z
  .strictObject({ password: text(1, 200, 'is required'), code: codeText })
  .meta({ id: 'ConsoleTotpEnd' })
export const totpCodeBody = z
  .strictObject({ code: text(6, 6, 'must be 6 digits') })
  .meta({ id: 'ConsoleTotpCode' })
export const chooseOrgBody = z
  .strictObject({ org_id: text(1, 100, 'must be an organisation of yours') })
  .meta({ id: 'ConsoleChooseOrg' })

export const companyBegun = z.object({ url: z.string() }).meta({ id: 'ConsoleCompanyBegun' })
export const totpStarted = z
  .object({ uri: z.string(), backup_codes: z.array(z.string()) })
  .meta({ id: 'ConsoleTotp' })

export const session = z
  .object({
    sign_up: z.enum(['closed', 'invite', 'open']),
    mail: z.boolean().describe('Whether the server sends mail'),
    companies: z
      .array(z.object({ id: z.string(), name: z.string() }))
      .describe('Companies whose own providers sign people in'),
    cell: z.string().nullable().describe('Which cell this is, where there are others with a console'),
    person: z
      .object({
        id: z.string(),
        email: z.string(),
        name: z.string(),
        operator: z.boolean(),
        totp: z.boolean(),
        has_password: z.boolean(),
      })
      .nullable()
      .describe('null when nobody is signed in'),
    organisations: z.array(z.object({ id: z.string(), name: z.string(), role: z.enum(roles) })),
    organisation: z
      .object({ id: z.string(), name: z.string(), role: z.enum(roles), acts_for: z.boolean() })
      .nullable(),
    acts: z.array(z.string()).describe('What the person may do here'),
  })
  .meta({ id: 'ConsoleSession' })
export type SessionShown = z.output<typeof session>

export const sessions = z
  .object({
    data: z.array(
      z.object({
        id: z.string(),
        current: z.boolean(),
        address: z.string(),
        agent: z.string(),
        since: instant,
      }),
    ),
  })
  .meta({ id: 'ConsoleSessions' })
export type SessionsShown = z.output<typeof sessions>

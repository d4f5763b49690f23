/** Signing in and out, as bodies and answers. */
import { z } from 'zod'
import { email } from '../../control/read.ts'
import { line, namedObject, namedStrict, text } from '../../core/body.ts'
import { roles } from '../../store/people/people-port.ts'
import { instant } from './shared.ts'

const password = text(12, 200, 'must have 12 to 200 characters')

const codeText = text(6, 20, 'must be a code of 6 digits, or a backup code')

export const signInBody = namedStrict('ConsoleSignIn', {
  email,
  password: text(1, 200, 'is required'),
  code: codeText.optional(),
})
export const linkBody = namedStrict('ConsoleLink', {
  token: text(20, 100, 'must be the secret of a link'),
  password: password.optional(),
  name: line(1, 100, 'must be a name').optional(),
  code: codeText.optional(),
})
export const askLinkBody = namedStrict('ConsoleAskLink', { email })
export const signUpBody = namedStrict('ConsoleSignUp', {
  email,
  name: line(1, 100, 'must be a name'),
  organisation: line(1, 100, 'must be a name'),
})
export const passwordBody = namedStrict('ConsolePassword', {
  current: text(1, 200, 'must be the present password').optional(),
  password,
})
export const totpStartBody = namedStrict('ConsoleTotpStart', { password: text(1, 200, 'is required') })
export const totpEndBody = namedStrict('ConsoleTotpEnd', {
  password: text(1, 200, 'is required'),
  code: codeText,
})
export const totpCodeBody = namedStrict('ConsoleTotpCode', { code: text(6, 6, 'must be 6 digits') })
export const chooseOrgBody = namedStrict('ConsoleChooseOrg', {
  org_id: text(1, 100, 'must be an organisation of yours'),
})

export const companyBegun = namedObject('ConsoleCompanyBegun', { url: z.string() })
export const totpStarted = namedObject('ConsoleTotp', { uri: z.string(), backup_codes: z.array(z.string()) })

export const session = namedObject('ConsoleSession', {
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
export type SessionShown = z.output<typeof session>

export const sessions = namedObject('ConsoleSessions', {
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
export type SessionsShown = z.output<typeof sessions>

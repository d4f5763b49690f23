/** Settings of the console: whether there is one, where it is, who may sign up, and its mail. */
import { matching, oneOf, onOff, secret } from './form.ts'
import type { SettingGroup } from './setting.ts'

/** Where an identity provider is: by https, or on this machine. */
export const ISSUER = /^https:\/\/\S+$|^http:\/\/(127\.0\.0\.1|localhost)(:\d+)?(\/\S*)?$/

/** Source: RFC 6749, section 3.3, and OpenID Connect Core 3.1.2.1. */
export const SCOPES = /^openid( [\x21\x23-\x5b\x5d-\x7e]{1,200}){0,20}$/
export const DEFAULT_SCOPES = 'openid email profile'

export const consoleSettings = {
  on: {
    name: 'CONSOLE',
    is: onOff(),
    fallback: 'on',
    meaning: 'Whether the server has a console at /console, for people.',
  },
  origin: {
    name: 'CONSOLE_ORIGIN',
    is: matching(/^https?:\/\/[a-z0-9.[\]:-]+$/, 'an origin such as https://console.example.com'),
    meaning:
      'Public address of the console. With https its cookie is `__Host-` and Secure. With mail (`SMTP_URL`) or a company’s sign-in (`OIDC_ISSUER`) it is needed, and `PUBLIC_URL` stands in for it; else the host of the request is taken.',
  },
  signUp: {
    name: 'SIGN_UP',
    is: oneOf('closed', 'invite', 'open'),
    fallback: 'closed',
    meaning:
      'Who may get an account: only people whom the operator adds (`closed`), also those whom owners and admins of an organisation invite (`invite`), or anybody (`open`).',
  },
  smtp: {
    name: 'SMTP_URL',
    is: secret(/^smtps?:\/\/.+$/, 'smtp://… or smtps://…'),
    meaning:
      'Where the console sends its mail; without it, links are shown to people who may see them. Needs `CONSOLE_ORIGIN` or `PUBLIC_URL`.',
  },
  mailFrom: {
    name: 'MAIL_FROM',
    is: matching(/^.{3,200}$/, 'an address'),
    fallback: 'turnpike@localhost',
    meaning: 'Sender of that mail.',
  },
  agentTelemetryUrl: {
    name: 'AGENT_TELEMETRY_URL',
    is: matching(/^https?:\/\/\S+$/, 'an address such as https://collector.example.com:4318'),
    meaning:
      'Where the telemetry of signed-in agents (OTLP over HTTP) is passed on to; without it, it is counted and dropped.',
  },
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    is: matching(ISSUER, 'an https address'),
    meaning:
      "A company's own identity provider (OpenID Connect), by its issuer. Its redirect address is `/console/api/session/callback/company` of the console. People are found by its e-mail addresses that it calls verified (`OIDC_TRUST_EMAIL`).",
  },
  oidcClientId: {
    name: 'OIDC_CLIENT_ID',
    is: matching(/^.{1,500}$/, 'a name'),
    meaning: 'The client id of this server at the provider.',
  },
  oidcClientSecret: {
    name: 'OIDC_CLIENT_SECRET',
    is: secret(/^.{1,2000}$/, 'a secret'),
    meaning: 'Secret of that client; without one only PKCE protects the exchange.',
  },
  oidcName: {
    name: 'OIDC_NAME',
    is: matching(/^.{1,60}$/, 'a name'),
    fallback: 'your company',
    meaning: 'The name on the button of that sign-in.',
  },
  oidcTrustEmail: {
    name: 'OIDC_TRUST_EMAIL',
    is: onOff(),
    fallback: 'off',
    meaning:
      'Whether an address counts that the provider does not call verified (`email_verified` is not true; Entra ID leaves it out). Turn it on only if people cannot choose their address there: whoever has the address of an account here gets that account.',
  },
  oidcOrg: {
    name: 'OIDC_ORG',
    is: matching(/^\S{1,100}$/, 'an organisation'),
    meaning:
      'The organisation that people join whom the provider lets in and nobody here has added; without it only people who were added can sign in.',
  },
  oidcRole: {
    name: 'OIDC_ROLE',
    is: oneOf('admin', 'billing', 'developer', 'viewer'),
    fallback: 'developer',
    meaning: 'Their role.',
  },
  oidcScopes: {
    name: 'OIDC_SCOPES',
    is: matching(SCOPES, 'scopes separated by spaces, openid first'),
    fallback: DEFAULT_SCOPES,
    meaning:
      'What this server asks the provider for. With `offline_access` most providers give a refresh token; then the provider is asked again while a person and their agents stay signed in, and whom it refuses is out (docs/sign-in.md).',
  },
  oidcGroupsClaim: {
    name: 'OIDC_GROUPS_CLAIM',
    is: matching(/^\S{1,200}$/, 'the name of a claim, such as groups'),
    meaning:
      'The claim of the provider that lists a person’s groups. With it, each sign-in gives people of `OIDC_ORG` the role and the teams that its rule has for those groups (docs/directory.md).',
  },
} as const satisfies SettingGroup

/** Addresses for agents that people signed in: at those paths which clients of the gateway protocol know. */
import { z } from 'zod'
import { namedObject } from '../../core/body.ts'
import { at, byKey, type Route } from '../route/route.ts'
import { nothing } from '../schema/calls.ts'
import { askSignIn, endSignIn, getSignInMetadata, giveToken } from './sign-in.ts'
import { getManagedSettings, takeTelemetry } from './told-agents.ts'

const metadata = namedObject('SignInMetadata', {
  issuer: z.string(),
  device_authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  revocation_endpoint: z.string(),
  grant_types_supported: z.array(z.string()),
  response_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
})

const deviceAnswer = namedObject('DeviceAuthorization', {
  device_code: z.string(),
  user_code: z.string().describe('What the person compares, or types in the console'),
  verification_uri: z.string(),
  verification_uri_complete: z.string(),
  expires_in: z.int().describe('Seconds'),
  interval: z.int().describe('Seconds between polls, at least'),
})

const tokens = namedObject('SignInTokens', {
  access_token: z.string().describe('Sent as a bearer token, like a key'),
  token_type: z.literal('Bearer'),
  expires_in: z.int().describe('Seconds'),
  refresh_token: z.string(),
  email: z.string().optional().describe('Whose sign-in it is'),
})

/** Source: RFC 6749, section 5.2. */
const oauthError = namedObject('SignInError', { error: z.string(), error_description: z.string().optional() })

const managed = namedObject('ManagedSettings', {
  uuid: z.string(),
  checksum: z.string(),
  settings: z.record(z.string(), z.unknown()),
})

const signals = ['metrics', 'logs', 'traces'] as const

export const agentRoutes: readonly Route[] = [
  {
    ...at('GET /.well-known/oauth-authorization-server'),
    summary: 'Where agents sign people in (RFC 8414).',
    auth: 'none',
    answer: metadata,
    handler: getSignInMetadata,
  },
  {
    ...at('POST /oauth/device_authorization'),
    summary: 'Begins a sign-in by the device flow (RFC 8628); a form, whose `surface` names the client.',
    auth: 'none',
    helper: true,
    instead: oauthError,
    answer: deviceAnswer,
    handler: askSignIn,
  },
  {
    ...at('POST /oauth/token'),
    summary: 'Tokens for an approved sign-in, or for a refresh token; a form.',
    auth: 'none',
    helper: true,
    instead: oauthError,
    answer: tokens,
    handler: giveToken,
  },
  {
    ...at('POST /oauth/revoke'),
    summary: 'Ends the sign-in of a token (RFC 7009); a form.',
    auth: 'none',
    helper: true,
    instead: oauthError,
    answer: nothing,
    handler: endSignIn,
  },
  {
    ...byKey('GET /managed/settings'),
    summary: 'What the organisation of the key tells agents, in the form of managed-settings.json.',
    dialect: 'messages',
    answer: managed,
    headers: ['If-None-Match'],
    handler: getManagedSettings,
  },
  ...signals.map(
    (signal): Route => ({
      method: 'POST',
      path: `/v1/${signal}`,
      summary: `Takes ${signal} of an agent (OTLP), passes them on to AGENT_TELEMETRY_URL and keeps nothing.`,
      auth: 'bearer',
      dialect: 'messages',
      answer: nothing,
      handler: takeTelemetry(signal),
    }),
  ),
]

/** A small OpenID Connect provider for tests: discovery, PKCE, a code that works once, ID tokens signed with keys of its own. */
import { createHash, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

type Claims = Readonly<Record<string, unknown>>

/** What the provider does wrong, or differently. */
type Manner = {
  /** Somebody else's key signs the token. */
  readonly byStranger?: boolean
  /** Requests to this path are never answered. */
  readonly silentAt?: '/token' | '/userinfo'
  readonly withoutIdToken?: boolean
  /** What it answers whoever brings a refresh token: an error of OAuth 2.0, or one of its own. */
  readonly refreshed?: 'invalid_grant' | 'invalid_client' | 'down'
  /** What the second address for claims says. */
  readonly userinfo?: Claims
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>

const CLIENT = { id: 'turnpike', secret: 'a secret of the client' }

/** `port` is where an earlier one was, or will be. */
export const startIssuer = async (port = 0) => {
  const keys = await generateKeyPair('RS256', { extractable: true })
  const strangers = await generateKeyPair('RS256', { extractable: true })
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const codes = new Map<string, { challenge: string; nonce: string; redirect: string; offline: boolean }>()
  /** Each is taken once. */
  const refreshTokens = new Set<string>()
  let claims: Claims = {}
  let manner: Manner = {}
  let tokens = 0
  let refreshes = 0
  const nextRefreshToken = (): string => {
    const token = `rt ${randomUUID()}`
    refreshTokens.add(token)
    return token
  }
  const issuerOf = (request: Request): string => new URL(request.url).origin
  const given = async (request: Request, more: Claims, offline: boolean): Promise<Response> => {
    const idToken = await new SignJWT({ ...claims, ...more })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(issuerOf(request))
      .setAudience((claims.aud as string[] | undefined) ?? CLIENT.id)
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(manner.byStranger ? strangers.privateKey : keys.privateKey)
    return Response.json({
      access_token: randomUUID(),
      token_type: 'Bearer',
      expires_in: 60,
      ...(offline ? { refresh_token: nextRefreshToken() } : {}),
      ...(manner.withoutIdToken ? {} : { id_token: idToken }),
    })
  }
  const refreshFor = (request: Request, form: URLSearchParams): Promise<Response> | Response => {
    refreshes += 1
    if (manner.refreshed === 'down') return new Response('no', { status: 502 })
    const known = manner.refreshed === undefined && refreshTokens.delete(form.get('refresh_token') ?? '')
    const error = manner.refreshed ?? (known ? undefined : 'invalid_grant')
    return error === undefined ? given(request, {}, true) : Response.json({ error }, { status: 400 })
  }
  const tokenFor = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text())
    if (form.get('grant_type') === 'refresh_token') return refreshFor(request, form)
    const code = codes.get(form.get('code') ?? '')
    codes.delete(form.get('code') ?? '')
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    const known = form.get('client_id') === CLIENT.id && form.get('client_secret') === CLIENT.secret
    if (
      code === undefined ||
      code.challenge !== proof ||
      code.redirect !== form.get('redirect_uri') ||
      !known
    )
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    tokens += 1
    return given(request, { nonce: code.nonce }, code.offline)
  }
  const discovery = (issuer: string) => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    userinfo_endpoint: `${issuer}/userinfo`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
  })
  /** Sends the person back at once: the test said who comes here. */
  const authorize = (url: URL): Response => {
    const query = (name: string) => url.searchParams.get(name) ?? ''
    const code = randomUUID()
    codes.set(code, {
      challenge: query('code_challenge'),
      nonce: query('nonce'),
      redirect: query('redirect_uri'),
      offline: query('scope').split(' ').includes('offline_access'),
    })
    const back = new URL(query('redirect_uri'))
    back.searchParams.set('code', code)
    back.searchParams.set('state', query('state'))
    return Response.redirect(back.href, 302)
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    fetch: (request) => {
      const url = new URL(request.url)
      if (url.pathname === manner.silentAt) return new Promise<never>(() => undefined)
      if (url.pathname === '/userinfo') return Response.json(manner.userinfo ?? {})
      if (url.pathname === '/token') return tokenFor(request)
      if (url.pathname === '/keys') return Response.json({ keys: [jwk] })
      return url.pathname === '/authorize' ? authorize(url) : Response.json(discovery(url.origin))
    },
  })
  return {
    address: `http://127.0.0.1:${server.port}`,
    client: CLIENT,
    /** Who signs in there from now on, and what the provider does wrong then. */
    says: (now: Claims, does: Manner = {}) => {
      claims = now
      manner = does
    },
    tokensGiven: () => tokens,
    /** How often somebody brought a refresh token. */
    refreshesAsked: () => refreshes,
    stop: () => server.stop(true),
  }
}

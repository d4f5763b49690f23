/** The store's port for sign-ins of agents: device grants (RFC 8628), and what their organisations tell agents. */
import type { JsonObject } from '../../core/json-body.ts'
import type { Instant } from '../../core/time.ts'
import type { KeyId } from '../../tenancy/key.ts'
import type { Actor } from './event-port.ts'

/** A request that a person may approve, or a sign-in that they approved. */
type AskedLogin = {
  readonly id: string
  /** What the agent shows, and the person compares: eight letters. */
  readonly userCode: string
  /** Which client asks, as it says itself. */
  readonly surface: string
  /** Where it asks from. */
  readonly address: string
  readonly askedAt: Instant
  readonly endsAt: Instant
}

type NewLogin = Pick<AskedLogin, 'userCode' | 'surface' | 'address'> & {
  readonly id: string
  /** The keyed hash of the device code. */
  readonly deviceHash: string
  readonly lifeMs: number
}

/** What became of a request: the words of RFC 8628, or the key of a sign-in. */
export type Polled = 'authorization_pending' | 'slow_down' | 'access_denied' | 'expired_token' | SignedIn

/** A sign-in, and the key that its agent calls with. */
export type SignedIn = AskedLogin & {
  readonly keyId: KeyId
  readonly personId: string
  readonly orgId: string
}

type Poll = {
  /** Under the present secret, and under the one before. */
  readonly deviceHashes: readonly string[]
  /** The keyed hash of the refresh token that a sign-in gets. */
  readonly refreshHash: string
  /** Polls that come sooner after each other are told to slow down. */
  readonly everyMs: number
  readonly lifeMs: number
}

export type LoginStore = {
  /** False if the user code is another's, so that the caller draws again. */
  askLogin(login: NewLogin): Promise<boolean>
  /** The request with that code, while nobody has answered it and its time is not over. */
  askedLogin(userCode: string): Promise<AskedLogin | undefined>
  /** Gives the request its key, with an event; false if somebody was faster, or its time is over. */
  approveLogin(
    userCode: string,
    it: { readonly personId: string; readonly orgId: string; readonly keyId: KeyId },
    by: Actor,
  ): Promise<boolean>
  denyLogin(userCode: string, orgId: string, by: Actor): Promise<boolean>
  /**
   * What the agent is told that asks again. An approved request becomes a sign-in; asked again within a minute, with the
   * same refresh token, it is the same, because the answer may have been lost.
   */
  pollLogin(poll: Poll): Promise<Polled>
  /** The sign-in of a refresh token, by any of its hashes. */
  loginOf(refreshHashes: readonly string[]): Promise<SignedIn | undefined>
  /** The sign-ins of an organisation, or of a person in it, newest first, with those whose agent has no token yet; one of them by its id. */
  logins(query: {
    readonly orgId: string
    readonly personId?: string | undefined
    readonly id?: string | undefined
  }): Promise<readonly SignedIn[]>
  /** Its refresh token is worth nothing from now on. */
  endLogin(id: string): Promise<void>
  /** What the organisation tells agents; undefined if it tells nothing. */
  agentSettings(orgId: string): Promise<JsonObject | undefined>
  /** Undefined removes them. */
  setAgentSettings(orgId: string, settings: JsonObject | undefined, by: Actor): Promise<void>
}

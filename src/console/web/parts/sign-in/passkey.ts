/** Passkeys in the browser: the server's options in, the device's answer out, both as JSON. */
import type { PasskeyBegun } from '../../../schema/passkeys.ts'
import { ask } from '../api.ts'

/** Whether this browser supports passkeys in JSON form. */
export const knowsPasskeys = (): boolean =>
  typeof PublicKeyCredential === 'function' &&
  typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'

const answerOf = (credential: Credential | null): unknown => {
  if (credential instanceof PublicKeyCredential) return credential.toJSON()
  throw new Error('no passkey was given')
}

/** Creates a passkey on the device and gives its public key to the server. */
export const addPasskey = async (name: string): Promise<unknown> => {
  const { options } = await ask<PasskeyBegun>('POST', '/session/passkeys/begin')
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as never)
  const response = answerOf(await navigator.credentials.create({ publicKey }))
  return ask('POST', '/session/passkeys', { name, response })
}

export const signInByPasskey = async (): Promise<unknown> => {
  const { options } = await ask<PasskeyBegun>('POST', '/session/passkey/begin')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as never)
  const response = answerOf(await navigator.credentials.get({ publicKey }))
  return ask('POST', '/session/passkey', { response })
}

/** Whether the device, or the person, cancelled; errors of the server come in its own words. */
export const isGivenUp = (error: unknown): boolean =>
  error instanceof DOMException || (error instanceof Error && error.message === 'no passkey was given')

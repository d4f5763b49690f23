/** Passkeys in the browser: the server's options in, the device's answer out, both as JSON. */
import type { PasskeyBegun } from '../../../schema/passkeys.ts'
import { ask } from '../api.ts'

/** Why there can be no passkeys on this page; undefined if there can. */
export const noPasskeysHere = (): string | undefined => {
  const { hostname } = location
  if (/^[\d.]+$|:/.test(hostname))
    return `A passkey belongs to a name, and this page was opened at an IP address (${hostname}). Open the console by its name to use one${isSecureContext ? ', such as localhost on this machine' : ', over https'}.`
  if (!isSecureContext) return 'Passkeys need https: open the console at an address that begins with it.'
  const known =
    typeof PublicKeyCredential === 'function' &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === 'function'
  return known ? undefined : 'This browser knows no passkeys.'
}

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

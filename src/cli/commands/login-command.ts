/**
 * `turnpike login <address>`: signs the person at this machine in at a gateway by the device flow (RFC 8628), and prints an
 * access token, for agents that take one from a command. Later runs print a fresh one without asking anybody.
 */
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { isObject, parseJson } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { Failed } from '../run/run-command.ts'

type Tokens = { readonly access_token: string; readonly refresh_token: string; readonly ends: number }
type Options = { readonly device?: boolean; readonly out?: boolean }
type Answer = { readonly status: number; readonly body: Readonly<Record<string, unknown>> }

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
const WAIT_MS = 30_000
/** A token is fresh while it serves at least this long. */
const FRESH_MS = 300_000
const SLOWER_MS = 5_000

const folder = (): string => join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'turnpike')

/** The tokens that this machine has, by the address of the gateway. */
const stored = async (): Promise<Readonly<Record<string, Tokens>>> => {
  const text = await readFile(join(folder(), 'logins.json'), 'utf8').catch(() => '{}')
  const value = parseJson(text)
  return isObject(value) ? (value as Readonly<Record<string, never>>) : {}
}

/** Only who owns the file reads it; it is whole at each moment. */
const store = async (address: string, tokens: Tokens | undefined): Promise<void> => {
  const { [address]: _before, ...others } = await stored()
  await mkdir(folder(), { recursive: true, mode: 0o700 })
  const path = join(folder(), 'logins.json')
  const next = `${path}.${process.pid}`
  const text = JSON.stringify(tokens === undefined ? others : { ...others, [address]: tokens }, null, 2)
  await writeFile(next, text, { mode: 0o600 })
  await chmod(next, 0o600)
  await rename(next, path)
}

const post = async (address: string, path: string, members: Record<string, string>): Promise<Answer> => {
  try {
    const answer = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(members).toString(),
      redirect: 'error',
      signal: AbortSignal.timeout(WAIT_MS),
    })
    const body = parseJson(await answer.text())
    return { status: answer.status, body: isObject(body) ? body : {} }
  } catch (error) {
    throw new Failed(`no gateway answers at ${address}: ${messageOf(error)}`)
  }
}

const tokensOf = ({ body }: Answer): Tokens => ({
  access_token: String(body.access_token),
  refresh_token: String(body.refresh_token),
  ends: Date.now() + Number(body.expires_in) * 1_000,
})

const refreshed = async (address: string, { refresh_token }: Tokens): Promise<Tokens | undefined> => {
  const answer = await post(address, '/oauth/token', { grant_type: 'refresh_token', refresh_token })
  if (answer.status === 200) return tokensOf(answer)
  if (answer.body.error === 'invalid_grant') return undefined
  throw new Failed(`the gateway at ${address} gave no token: ${answer.status} ${JSON.stringify(answer.body)}`)
}

/** Shows the code, and waits until a person has answered it. */
const signIn = async (address: string): Promise<Tokens> => {
  const asked = await post(address, '/oauth/device_authorization', {
    surface: `turnpike login on ${hostname()}`,
  })
  if (asked.status !== 200)
    throw new Failed(`${address} signs nobody in: ${asked.status} ${JSON.stringify(asked.body)}`)
  const { user_code, verification_uri_complete, device_code, interval, expires_in } = asked.body
  const ends = Date.now() + Number(expires_in) * 1_000
  process.stderr.write(`Open ${verification_uri_complete}\nand approve the code ${user_code}\n`)
  for (let wait = Number(interval) * 1_000; ; ) {
    await Bun.sleep(wait)
    const form = { grant_type: DEVICE_GRANT, device_code: String(device_code) }
    const answer = await post(address, '/oauth/token', form).catch((error: unknown) => {
      // A network that is away for a moment does not end the code, which somebody may be approving.
      if (Date.now() < ends) return undefined
      throw error
    })
    if (answer === undefined) continue
    if (answer.status === 200) return tokensOf(answer)
    const { error } = answer.body
    if (error === 'slow_down') wait += SLOWER_MS
    else if (error === 'access_denied') throw new Failed('the sign-in was denied')
    else if (error !== 'authorization_pending' && answer.status < 500)
      throw new Failed(`the sign-in has ended (${String(error)}); start it again`)
  }
}

const signOut = async (address: string, known: Tokens | undefined): Promise<void> => {
  if (known !== undefined) {
    const { status, body } = await post(address, '/oauth/revoke', { token: known.refresh_token })
    if (status !== 200)
      throw new Failed(
        `the gateway at ${address} signed nobody out; try again: ${status} ${JSON.stringify(body)}`,
      )
  }
  await store(address, undefined)
  process.stderr.write(known === undefined ? 'nobody was signed in there\n' : `signed out at ${address}\n`)
}

const login = async (given: string, { device, out }: Options): Promise<void> => {
  if (!/^https?:\/\/[^\s/]+\/?$/.test(given))
    throw new Failed(`the address must be one such as https://gateway.example.com, not '${given}'`)
  const address = given.replace(/\/$/, '')
  const { [address]: known } = await stored()
  if (out === true) return signOut(address, known)
  let tokens = known !== undefined && known.ends - Date.now() > FRESH_MS ? known : undefined
  if (tokens === undefined && known !== undefined) tokens = await refreshed(address, known)
  if (tokens === undefined) {
    if (device !== true && !process.stderr.isTTY)
      throw new Failed(
        `nobody is signed in at ${address}; run 'turnpike login ${address}' in a terminal once`,
      )
    tokens = await signIn(address)
  }
  if (tokens !== known) await store(address, tokens)
  process.stdout.write(`${tokens.access_token}\n`)
}

export const loginCommand = (program: Command): void => {
  program
    .command('login <address>')
    .description('sign in at a gateway as a person, and print an access token; later runs print a fresh one')
    .option('--device', 'sign in even where nobody is at a terminal: the code is written to stderr')
    .option('--out', 'sign out there')
    .action(login)
}

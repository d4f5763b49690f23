/**
 * `turnpike receipt …`: the keys that sign receipts, and the check of a receipt, which needs no server and no database.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { receiptKeyList, receiptKeyRevoke, receiptKeyRotate } from '../../control/reports/receipts.ts'
import { type JsonObject, parseJson, present } from '../../core/json-body.ts'
import { messageOf } from '../../core/message-of.ts'
import { readJwks } from '../../receipts/keys.ts'
import { recomputes } from '../../receipts/recompute.ts'
import { verifyReceipt } from '../../receipts/token.ts'
import { checkLog } from '../run/check-log.ts'
import { performAs } from '../run/control.ts'
import { Failed, onLedger, print, tableOf, under } from '../run/run-command.ts'

const FETCH_MS = 10_000

export const receiptCommands = (program: Command): void => {
  const receipt = program.command('receipt').description('receipts and the keys that sign them')
  receipt
    .command('verify <jwt>')
    .description('check a receipt against a key set; needs no server; fails when it is not valid')
    .requiredOption('--jwks <file or url>', 'the key set: a file, or the address of /.well-known/jwks.json')
    .option('--issuer <name>', 'the issuer that the claim iss must name')
    .option('--log <url>', 'a server, to prove that its log of receipts has this one')
    .option('--head <file>', 'with --log: where the last end of the log is kept, from which it must go on')
    .option('--json', 'for programs')
    .action(verify)
  under(receipt, 'keys', 'the keys, oldest first; the last one whose time has come signs')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, options: { json?: boolean }) => {
        const { data } = await performAs('receipt keys', database, receiptKeyList, {})
        print(options.json, data, tableOf(data))
      }),
    )
  receipt
    .command('rotate')
    .description('add a key; it is published now and signs in ten minutes; older ones stay published')
    .option('--now', 'sign with it at once')
    .option('--json', 'for programs')
    .action(
      onLedger(async (database, options: { now?: boolean; json?: boolean }) => {
        const { now = false } = options
        const key = await performAs('receipt rotate', database, receiptKeyRotate, { now })
        print(options.json, key, `${key.kid} signs from ${key.signs_from}\n`)
      }),
    )
  under(receipt, 'revoke <kid>', 'remove a key that may have leaked; what it signed is no longer valid')
    // One name in 64 begins with a dash without being an option.
    .allowUnknownOption()
    .action(
      onLedger(async (database, kid: string) => {
        await performAs('receipt revoke', database, receiptKeyRevoke, { kid })
        print(false, {}, `${kid} is removed; every process stops using it within a minute\n`)
      }),
    )
}

const verify = async (
  token: string,
  options: { jwks: string; issuer?: string; json?: boolean; log?: string; head?: string },
): Promise<void> => {
  const keys = readJwks(parseJson(await textAt(options.jwks)))
  if (keys === undefined) throw new Failed(`${options.jwks} is not a key set`)
  const verdict = verifyReceipt(
    token.trim(),
    { keys, issuers: options.issuer === undefined ? undefined : [options.issuer] },
    Date.now(),
  )
  const claims: JsonObject | undefined = 'claims' in verdict ? verdict.claims : undefined
  const exact = claims === undefined ? undefined : recomputes(claims)
  const lines = [
    verdict.valid ? `valid, signed by ${verdict.kid}` : `not valid: ${verdict.error}`,
    ...(claims === undefined ? [] : [JSON.stringify(claims, null, 2)]),
    ...(exact === undefined
      ? []
      : [`the amount ${exact ? 'follows' : 'DOES NOT FOLLOW'} from usage and prices`]),
  ]
  const logged =
    options.log === undefined || claims === undefined
      ? undefined
      : await checkLog(options.log, { token: token.trim(), claims, keys, kept: options.head })
  if (logged !== undefined) lines.push(logged.sound ? logged.said : `NOT SOUND: ${logged.said}`)
  print(
    options.json,
    {
      ...verdict,
      ...present({ recomputes: exact, log: logged }),
    },
    `${lines.join('\n')}\n`,
  )
  if (logged?.sound === false) throw new Failed(logged.said)
  if (!verdict.valid || exact !== true) throw new Failed('the receipt is not valid')
}

const textAt = async (place: string): Promise<string> => {
  try {
    if (!/^https?:\/\//.test(place)) return await readFile(place, 'utf8')
    const response = await fetch(place, { signal: AbortSignal.timeout(FETCH_MS) })
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    return await response.text()
  } catch (error) {
    throw new Failed(`the key set at ${place} cannot be read: ${messageOf(error)}`)
  }
}

/** `turnpike ready`: whether the server takes calls, for health checks in places without any other program. */
import type { Command } from 'commander'
import { messageOf } from '../../core/message-of.ts'
import { ownAddress, toOwn } from '../config/own-address.ts'
import { Failed, under } from '../run/run-command.ts'

const WAIT_MS = 4_000

export const readyCommand = (program: Command): void => {
  under(
    program,
    'ready',
    'ask the server of HOST and PORT whether it takes calls; the exit code is 0 or 1',
  ).action(async () => {
    const address = ownAddress()
    const answer = await fetch(`${address}/readyz`, {
      signal: AbortSignal.timeout(WAIT_MS),
      ...toOwn,
    }).catch((error: unknown) => {
      throw new Failed(`no server answers at ${address}: ${messageOf(error)}`)
    })
    if (!answer.ok) throw new Failed(`the server at ${address} takes no calls: ${await answer.text()}`)
    process.stdout.write('ready\n')
  })
}

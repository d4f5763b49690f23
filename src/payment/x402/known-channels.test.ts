/** What is remembered of channels is for one call at a time, and for as long as what their chain showed counts. */
import { expect, test } from 'bun:test'
import type { Channel } from '../../store/payments/channel-port.ts'
import { KnownChannels } from './known-channels.ts'

const channel: Channel = {
  ...{ id: 'c', payer: 'p', asset: 'a', account: 'x402:channel:c', config: '{}', unit: 1n },
  ...{ balance: 100n, seenAt: 0, charged: 10n, claimed: 0n, lost: 0n, signed: 0n, createdAt: 0 },
}

const opened = () => {
  const time = { ms: 0 }
  const known = new KnownChannels(() => time.ms)
  known.charged({ channel, untilMs: 30_000 })
  return { known, time }
}

test('a channel is for the call whose voucher begins where it stands, and for no other until that one is open', () => {
  const { known } = opened()
  expect(known.take('c', 9n, 50n)).toBeUndefined()
  expect(known.take('c', 10n, 101n)).toBeUndefined()
  expect(known.take('c', 10n, 50n)?.channel).toEqual(channel)
  expect([known.take('c', 10n, 50n), known.leave('c')]).toEqual([undefined, false])
  known.opened('c')
  expect([known.take('c', 10n, 50n), known.leave('c')]).toEqual([undefined, true])
})

test('it is forgotten when the ledger is asked, and when it was looked at too long ago', () => {
  const { known, time } = opened()
  time.ms = 30_000
  expect(known.take('c', 10n, 50n)).toBeUndefined()
  time.ms = 29_999
  expect(known.leave('c')).toBe(true)
  expect(known.take('c', 10n, 50n)).toBeUndefined()
})

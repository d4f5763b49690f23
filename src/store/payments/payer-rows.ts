/** What is told of a payer's channels: sums, the channels, and the calls that they were charged for. */
import { integer, nano, rowsOf, text } from '../engine/columns.ts'
import { type Engine, once } from '../engine/engine.ts'
import type { ChannelStore } from './channel-port.ts'
import { channels } from './channel-row.ts'

const sums = rowsOf({
  payer: text('payer'),
  channels: integer('channels'),
  deposited: nano('deposited'),
  charged: nano('charged'),
  claimed: nano('claimed'),
  claimable: nano('claimable'),
  left: nano('remaining'),
})

const calls = rowsOf({
  callId: text('call_id'),
  channelId: text('channel_id'),
  amount: nano('amount'),
  at: integer('settled_at'),
})

type PayerRows = Pick<ChannelStore, 'payers' | 'channelsOf' | 'paidByVoucher'>

export const payerRows = (engine: Engine): PayerRows => {
  const read = (query: string, ...params: (string | number)[]) => once(engine, 'control', query, ...params)
  return {
    payers: async ({ payer, most }) => {
      const sum = (expression: string, name: string) => `cast(sum(${expression}) as bigint) as ${name}`
      const rows = await read(
        `select c.payer, count(*) as channels, ${sum('c.balance', 'deposited')}, ${sum('c.charged', 'charged')},
           ${sum('c.claimed', 'claimed')}, ${sum('c.charged - c.claimed - c.lost', 'claimable')},
           ${sum('case when c.balance > c.charged then c.balance - c.charged else 0 end', 'remaining')}
         from x402_channel c where $1 = '' or c.payer = $1 group by c.payer order by 4 desc, c.payer limit $2`,
        payer ?? '',
        most,
      )
      return rows.map(sums.read)
    },
    channelsOf: async (payer) =>
      (await read('select * from x402_channel where payer = $1 order by created_at, id', payer)).map(
        channels.read,
      ),
    paidByVoucher: async (payer, most) =>
      (
        await read(
          `select p.call_id, p.channel_id, p.amount, p.settled_at from x402_payment p
           where p.channel_id in (select c.id from x402_channel c where c.payer = $1) and p.state = 'settled'
           order by p.settled_at desc, p.id desc limit $2`,
          payer,
          most,
        )
      ).map(calls.read),
  }
}

/**
 * The audit finds edits: the test changes every column of every table that records money by hand, row by row, and
 * restores it. Some columns contradict no other record, so edits of them cannot be found; they are listed here with the
 * reason.
 */
import { describe, expect, test } from 'bun:test'
import type { Value as Bound, Engine, Row } from '../../src/store/engine/engine.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { bookScene } from './audit-scene.ts'
import { brokenLaws, engines } from './engines.ts'

/** Each table that records money, and its key. */
const tables: Readonly<Record<string, readonly string[]>> = {
  account: ['id'],
  budget: ['scope'],
  lease: ['id'],
  inflight: ['call_id'],
  transfer: ['kind', 'ref'],
  usage_detail: ['call_id'],
  credit_line: ['account_id'],
  invoice: ['id'],
  checkout: ['id'],
  taken_back: ['id'],
  x402_channel: ['id'],
  x402_payment: ['id'],
  trial_claim: ['origin'],
  trial_day: ['day'],
  referral_claim: ['org_id'],
  sub_wallet: ['id'],
  key_line: ['key_id', 'owner_id'],
  log_tile: ['level', 'n'],
  log_end: ['id'],
}

const only = 'the only record of it'
const plain = 'no money is told by it'
/** Columns in which some edit stays unseen. */
const unseen: Readonly<Record<string, string>> = {
  'account.created_at': plain,
  'account.name': plain,
  'account.org_id': plain,
  'account.lowest': 'a credit line that was lowered tolerates what was owed by then',
  'budget.keep_until': plain,
  'budget.lim': 'the budget of a sub-wallet and the cap of a month that is over stand nowhere else',
  'budget.tolerated': only,
  'checkout.amount': 'less than what was asked for may be paid',
  'checkout.created_at': plain,
  'checkout.id': only,
  'credit_line.lim': 'lowered, the account tolerates what was owed by then',
  'credit_line.net_days': only,
  'credit_line.opened': only,
  'inflight.call_id': only,
  'inflight.hold': 'any hold within the lease may be true',
  'inflight.spent': 'any amount that the answer may have come to so far may be true',
  'inflight.started_at': plain,
  'invoice.due_at': only,
  'invoice.ends_at': 'moved by less than the time between two charges',
  'invoice.id': only,
  'invoice.issued_at': plain,
  'invoice.month': plain,
  'lease.expires_at': plain,
  'lease.id': 'of a lease without open calls',
  'lease.instance': plain,
  'lease.recall': plain,
  'lease.tag_budgets': 'of a lease without open calls',
  'lease.tags': 'a digest; what it is of stands nowhere else',
  'log_end.at': 'moved by less than a second',
  'log_end.began': 'moved by less than a second',
  'log_end.token': 'who signed it is checked by those who keep it',
  'log_end.until': 'moved by less than the time between two charges',
  'log_tile.first_at': 'says only where to look first',
  'log_tile.late_at': 'says only where to look',
  'log_tile.last_at': 'moved by less than the time between two charges',
  'referral_claim.claimed_at': plain,
  'sub_wallet.changed_at': plain,
  'sub_wallet.created_at': plain,
  'sub_wallet.label': plain,
  'sub_wallet.version': plain,
  'taken_back.id': only,
  'transfer.at': 'moved by less than a month',
  'transfer.attempt': only,
  'transfer.month': 'of what is no call counts nowhere',
  'transfer.note': plain,
  'transfer.ref': 'of what came from outside',
  'trial_claim.attempt': plain,
  'trial_claim.claimed_at': plain,
  'trial_claim.ended': only,
  'trial_claim.expires_at': only,
  'trial_claim.origin': plain,
  'trial_day.lim': only,
  'x402_channel.asset': only,
  'x402_channel.balance': 'what the chain said; it may be less than was charged, once a payer left',
  'x402_channel.charged_at': plain,
  'x402_channel.config': 'the id is its hash, which the contract checks',
  'x402_channel.created_at': plain,
  'x402_channel.leaving_at': only,
  'x402_channel.next_try': plain,
  'x402_channel.seen_at': plain,
  'x402_channel.signature': 'its payer’s, which the contract checks',
  'x402_channel.signed': 'at least what was charged; what was signed stands in the text of a payment',
  'x402_payment.call_id': 'of a call that was not charged yet',
  'x402_payment.change_to': 'of a voucher nothing is left over',
  'x402_payment.created_at': plain,
  'x402_payment.credit_to': only,
  'x402_payment.expires_at': plain,
  'x402_payment.fingerprint': plain,
  'x402_payment.id': 'of a voucher, once its channel was charged with its call',
  'x402_payment.next_try': plain,
  'x402_payment.payer': plain,
  'x402_payment.reason': plain,
  'x402_payment.sent': plain,
  'x402_payment.settled_at': plain,
  'x402_payment.tries': plain,
  'x402_payment.tx': 'of a voucher without a deposit',
}

type Value = Bound

const valueIn = (value: unknown): Value =>
  typeof value === 'bigint' ||
  typeof value === 'number' ||
  typeof value === 'string' ||
  value instanceof Uint8Array
    ? value
    : null

/** Other values than the one that is there, of its type. */
const others = (column: string, value: Value, numeric: boolean): readonly Value[] => {
  if (value instanceof Uint8Array) return bytesEdits(value)
  if (column === 'detail') return detailEdits(String(value))
  if (numeric) return value === null ? [1n] : [BigInt(value) + 1n, BigInt(value) - 1n]
  return [`${value ?? ''}x`]
}

/** The first byte and the last are others, and the end is gone. */
const bytesEdits = (bytes: Uint8Array): readonly Uint8Array[] => [
  ...[0, bytes.length - 1].map((at) => bytes.with(at, (bytes[at] ?? 0) ^ 1)),
  bytes.slice(0, -1),
]

const detailEdits = (text: string): readonly string[] =>
  [
    text.replace('"input":1000', '"input":1001'),
    text.replace('"cache_read":100', '"cache_read":101'),
    text.replace('"input":10000', '"input":20000'),
    text.replace(/^\[\d+/, '[70000'),
  ].filter((edited) => edited !== text)

type Edit = { readonly table: string; readonly column: string; readonly row: Row; readonly value: Value }

const editsOf = async (engine: Engine): Promise<readonly Edit[]> => {
  const edits: Edit[] = []
  for (const [table, keys] of Object.entries(tables)) {
    const [rows = []] = await engine.batch('control', [
      { text: `select * from ${table} order by ${keys.join(', ')}`, params: [] },
    ])
    expect([table, rows.length > 0]).toEqual([table, true])
    for (const row of rows)
      for (const column of Object.keys(row)) {
        const numeric = rows.some(
          (each) => typeof each[column] === 'bigint' || typeof each[column] === 'number',
        )
        for (const value of others(column, valueIn(row[column]), numeric))
          edits.push({ table, column, row, value })
      }
  }
  return edits
}

const set = (engine: Engine, { table, column }: Edit, to: { from: Row; value: Value }) => {
  const keys = tables[table] ?? []
  const where = keys.map((key, index) => `${key} = $${index + 2}`).join(' and ')
  const params = [to.value, ...keys.map((key) => valueIn(to.from[key]))]
  return engine
    .batch('control', [{ text: `update ${table} set ${column} = $1 where ${where}`, params }])
    .then(
      () => true,
      () => false,
    )
}

const take = (engine: Engine, table: string, row: Row) => {
  const keys = tables[table] ?? []
  const where = keys.map((key, index) => `${key} = $${index + 1}`).join(' and ')
  return engine.batch('control', [
    { text: `delete from ${table} where ${where}`, params: keys.map((key) => valueIn(row[key])) },
  ])
}

const putBack = (engine: Engine, table: string, row: Row) => {
  const names = Object.keys(row)
  const text = `insert into ${table} (${names.join(', ')}) values (${names.map((_, index) => `$${index + 1}`).join(', ')})`
  return engine.batch('control', [{ text, params: Object.values(row).map(valueIn) }])
}

/** The ledger is append-only to everyone else. */
const unlock = (engine: Engine) =>
  engine.batch(
    'control',
    (engine.name === 'postgres'
      ? ['alter table transfer disable trigger user']
      : ['drop trigger transfer_no_update', 'drop trigger transfer_no_delete']
    ).map((text) => ({ text, params: [] })),
  )

for (const kind of engines.filter(({ lasting }) => lasting))
  describe(`edits of the books on ${kind.name}`, () => {
    test('are found, all but those that nothing contradicts', async () => {
      const database = await kind.fresh()
      const { store, address } = await bookScene(database)
      expect(await brokenLaws(store)).toEqual([])
      const engine = openEngine(address)
      await unlock(engine)
      const missed = new Set<string>()
      let [found, refused] = [0, 0]
      const edits = await editsOf(engine)
      // A server answers more slowly: it checks a part of the edits, another one each time.
      const share = kind.name === 'PostgreSQL' ? 8 : 1
      const part = Math.floor(Math.random() * share)
      for (const [index, edit] of edits.entries()) {
        if (index % share !== part) continue
        if (!(await set(engine, edit, { from: edit.row, value: edit.value }))) {
          refused++
          continue
        }
        // An audit that cannot read a text of the books fails, and says so.
        if (
          await brokenLaws(store).then(
            ({ length }) => length > 0,
            () => true,
          )
        )
          found++
        else missed.add(`${edit.table}.${edit.column}`)
        const after = { ...edit.row, [edit.column]: edit.value }
        await set(engine, edit, { from: after, value: valueIn(edit.row[edit.column]) })
      }
      console.log(`part ${part} of ${share}: ${found} found, ${refused} refused by the schema`)
      expect([...missed].filter((column) => unseen[column] === undefined).sort()).toEqual([])
      if (share === 1) expect(Object.keys(unseen).filter((column) => !missed.has(column))).toEqual([])
      expect(await brokenLaws(store)).toEqual([])
      await engine.close()
      await store.close()
      await database.stop()
    })

    test('and so are rows that were taken out, but for a counter that counted nothing', async () => {
      const database = await kind.fresh()
      const { store, address } = await bookScene(database)
      const engine = openEngine(address)
      await unlock(engine)
      const missed: string[] = []
      for (const table of [
        'budget',
        'transfer',
        'key_line',
        'sub_wallet',
        'x402_channel',
        'x402_payment',
        'log_tile',
        'log_end',
      ] as const) {
        const [rows = []] = await engine.batch('control', [{ text: `select * from ${table}`, params: [] }])
        for (const row of rows) {
          await take(engine, table, row)
          if ((await brokenLaws(store)).length === 0)
            missed.push(String(row.scope ?? `${table} ${Object.values(row)[0]}`))
          await putBack(engine, table, row)
        }
      }
      expect(missed).toEqual(['day:w:2026-11-21'])
      expect(await brokenLaws(store)).toEqual([])
      await engine.close()
      await store.close()
      await database.stop()
    })
  })

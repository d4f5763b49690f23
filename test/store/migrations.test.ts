/** The schema: whoever comes first brings it up to date, once, and never against what the database already is. */
import { describe, expect, test } from 'bun:test'
import { dayOf, weekOf } from '../../src/core/time.ts'
import type { Engine } from '../../src/store/engine/engine.ts'
import { type Migration, migrate, migrations, missingOf } from '../../src/store/engine/migrate.ts'
import { openEngine } from '../../src/store/engine/open-engine.ts'
import { openStore } from '../../src/store/open-store.ts'
import { engines, untouched } from './engines.ts'

const OPENER = `
  import { openStore } from ${JSON.stringify(new URL('../../src/store/open-store.ts', import.meta.url).href)}
  const store = await openStore({ url: process.env.STORE_URL ?? '' })
  await store.ping()
  await store.close()
`

/** Opens the store in a process of its own; resolves with its exit code and output. */
const openElsewhere = async (url: string): Promise<{ code: number; said: string }> => {
  const child = Bun.spawn([process.execPath, '-e', OPENER], {
    env: { ...process.env, STORE_URL: url },
    stderr: 'pipe',
  })
  const said = await new Response(child.stderr).text()
  return { code: await child.exited, said }
}

const rows = async (engine: Engine, text: string) =>
  (await engine.batch('control', [{ text, params: [] }]))[0] ?? []

const extra: Migration = {
  version: migrations.length + 1,
  name: 'extra',
  common: 'create table extra (id TEXT)',
  own: {},
}

for (const kind of engines) {
  describe(`migrations on ${kind.name}`, () => {
    test('are applied once, in order, and recorded', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      expect(await migrate(engine)).toBe(migrations.length)
      expect(await migrate(engine)).toBe(0)
      expect(await migrate(engine, [...migrations, extra])).toBe(1)
      expect(await rows(engine, 'select name from schema_migration order by version')).toHaveLength(
        migrations.length + 1,
      )
      await engine.close()
      await database.stop()
    })

    test('refuse a database that is newer than the program', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, [...migrations, extra])
      await expect(migrate(engine)).rejects.toThrow('the database is newer than this program')
      await engine.close()
      await database.stop()
    })

    test('that only add keep the program of before welcome, until one does more', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, [...migrations, { ...extra, adds: true }])
      expect(await migrate(engine)).toBe(0)
      expect(await missingOf(engine, migrations)).toEqual([])
      const { version } = migrations.findLast(({ adds }) => adds !== true) ?? extra
      expect(await missingOf(engine, migrations.slice(0, version))).toEqual([])
      await expect(migrate(engine, migrations.slice(0, version - 1))).rejects.toThrow(
        'newer than this program',
      )
      const more = { ...extra, version: extra.version + 1, common: 'drop table extra' }
      await migrate(engine, [...migrations, { ...extra, adds: true }, more])
      await expect(migrate(engine)).rejects.toThrow('the database is newer than this program')
      await engine.close()
      await database.stop()
    })

    test('refuse a database made by another text of the same migration', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine)
      const [first, ...rest] = migrations
      if (first === undefined) throw new Error('there are no migrations')
      const edited = { ...first, common: `${first.common}\n-- edited` }
      await expect(migrate(engine, [edited, ...rest])).rejects.toThrow('must not be edited')
      await engine.close()
      await database.stop()
    })

    test('carry over payments by x402, open or ended', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, migrations.slice(0, 7))
      const insert = (id: string, state: string, sent: string, tx: string) =>
        rows(
          engine,
          `insert into x402_payment (id, call_id, fingerprint, state, account_id, amount, payer, credit_to, tx, sent,
             created_at, next_try, tries)
           values ('${id}', 'c-${id}', 'f', '${state}', 'x402:${id}', 7, '0xp', 'wal', ${tx}, ${sent}, 5, 6, 2)`,
        )
      await insert('open', 'settling', `'{}'`, 'null')
      await insert('paid', 'settled', 'null', `'0xt'`)
      await migrate(engine)
      await engine.close()
      if (kind.lasting) {
        const store = await openStore({ url: database.url })
        const both = { scheme: 'exact', amount: 7n, payer: '0xp', creditTo: 'wal', createdAt: 5 }
        expect(await store.payments.payment('open')).toMatchObject({ ...both, state: 'settling', sent: '{}' })
        expect(await store.payments.payment('paid')).toMatchObject({
          ...both,
          state: 'settled',
          transaction: '0xt',
        })
        expect((await store.payments.unsettledPayments(10)).map(({ id }) => id)).toEqual(['open'])
        await store.close()
      }
      await database.stop()
    })

    test('carry over what payers took back before each refund and dispute had a row', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, migrations.slice(0, 5))
      const adjust = (ref: string, debit: string, credit: string) =>
        `('adjust', '${ref}', '${debit}', '${credit}', 7, 'of stripe:pi', 0)`
      const moves = [
        adjust('stripe:re', 'w', 'cash'),
        adjust('stripe:dp', 'w', 'cash'),
        adjust('stripe:dp:back', 'cash', 'w'),
      ]
      const columns = 'kind, ref, debit, credit, amount, note, at'
      await rows(engine, `insert into transfer (${columns}) values ${moves.join(', ')}`)
      await migrate(engine)
      const carried = await rows(engine, 'select id, topup_ref, outstanding from taken_back order by id')
      expect(carried.map((row) => [row.id, row.topup_ref, Number(row.outstanding)])).toEqual([
        ['dp', 'stripe:pi', 0],
        ['re', 'stripe:pi', 7],
      ])
      await engine.close()
      await database.stop()
    })

    test('count what a key and those above it spent in this week and day before their caps were counted', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, migrations.slice(0, 32))
      const today = dayOf(Date.now())
      await rows(
        engine,
        `insert into account (id, org_id, name, bounded, created_at) values ('w', 'o', 'w', 1, 0)`,
      )
      for (const id of ['top', 'below'])
        await rows(
          engine,
          `insert into api_key (id, hash, org_id, wallet_id, ancestors, label, prefix, created_at, changed_at)
           values ('${id}', '${id}', 'o', 'w', '[]', '', '', 0, 0)`,
        )
      await rows(
        engine,
        `insert into key_line (key_id, owner_id, depth) values ('top', 'top', 0), ('below', 'below', 0), ('below', 'top', 1)`,
      )
      const [month, day] = [today.slice(0, 7), today]
      await rows(
        engine,
        `insert into transfer (kind, ref, debit, credit, amount, key_id, month, day, at)
         values ('usage', 'a', 'w', 'revenue', 7, 'below', '${month}', '${day}', 0),
           ('usage', 'b', 'w', 'revenue', 5, 'top', '${month}', '${day}', 0)`,
      )
      await rows(
        engine,
        `insert into lease (id, instance, key_id, wallet_id, month, day, granted, used, calls, expires_at)
         values ('l', 'i', 'below', 'w', '${month}', '${day}', 9, 2, 1, 0)`,
      )
      await migrate(engine)
      const counted = await rows(
        engine,
        'select scope, used, held, calls from budget where week is not null or day is not null order by scope',
      )
      const numbers = counted.map((row) => [row.scope, Number(row.used), Number(row.held), Number(row.calls)])
      const of = (key: string, used: number, calls: number) =>
        [day, weekOf(day)].map((period) => [`key:${key}:${period}`, used, 9, calls])
      expect(numbers.toSorted()).toEqual([...of('below', 5, 0), ...of('top', 10, 1)].toSorted())
      const [{ week } = {}] = await rows(engine, 'select week from lease')
      expect(week).toBe(weekOf(day))
      await engine.close()
      await database.stop()
    })

    test('carry over how calls were charged and what was taken back, which stood in notes', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, migrations.slice(0, 14))
      const post = (posted: string, posting: string, note: string) =>
        rows(
          engine,
          `insert into transfer (kind, ref, debit, credit, amount, note, at)
           values ('${posted}', '${posting}', 'w', 'cash', 7, '${note}', 0)`,
        )
      await post('usage', 'a', 'recovered')
      await post('usage', 'b', 'late')
      await post('usage', 'c', 'house_excess 5')
      await post('writeoff', 'd', 'late')
      await post('adjust', 'stripe:re', 'of stripe:pi')
      await post('adjust', 'by hand', 'late')
      await migrate(engine)
      const carried = await rows(engine, 'select ref, settled, of_topup, note from transfer order by ref')
      expect(carried.map((row) => [row.ref, row.settled, row.of_topup, row.note])).toEqual([
        ['a', 'recovered', null, 'recovered'],
        ['b', 'late', null, 'late'],
        ['by hand', null, null, 'late'],
        ['c', null, null, 'house_excess 5'],
        ['d', 'late', null, 'late'],
        ['stripe:re', null, 'stripe:pi', 'of stripe:pi'],
      ])
      await expect(rows(engine, 'update transfer set amount = 6')).rejects.toThrow('append-only')
      await engine.close()
      await database.stop()
    })

    test.if(kind.name === 'PostgreSQL')(
      'understand postings of a process of the version before',
      async () => {
        const database = await untouched(kind)
        const engine = openEngine(database)
        await migrate(engine)
        const posting = (posted: string, note: string) =>
          `('${posted}', '${note}', 'w', 'cash', 7, '${note}', 0)`
        const postings = [
          posting('usage', 'recovered'),
          posting('usage', 'house_excess 5'),
          posting('adjust', 'of stripe:pi'),
        ]
        const columns = 'kind, ref, debit, credit, amount, note, at'
        await rows(engine, `insert into transfer (${columns}) values ${postings.join(', ')}`)
        const read = await rows(engine, 'select ref, settled, of_topup from transfer order by ref')
        expect(read.map((row) => [row.ref, row.settled, row.of_topup])).toEqual([
          ['house_excess 5', null, null],
          ['of stripe:pi', null, 'stripe:pi'],
          ['recovered', 'recovered', null],
        ])
        await engine.close()
        await database.stop()
      },
    )

    test('leave nothing behind when one fails', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      const broken = { ...extra, common: 'create table half (id TEXT); create table half (id TEXT)' }
      await expect(migrate(engine, [...migrations, broken])).rejects.toThrow()
      expect(await migrate(engine)).toBe(migrations.length)
      await engine.close()
      await database.stop()
    })

    test('keep the ledger append-only', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine)
      await rows(
        engine,
        `insert into transfer (kind, ref, debit, credit, amount, at) values ('topup', 'p', 'cash', 'revenue', 5, 0)`,
      )
      const attempts = [`update transfer set amount = 6`, 'delete from transfer']
      if (kind.name === 'PostgreSQL') attempts.push('truncate transfer')
      for (const attempt of attempts)
        await expect(rows(engine, attempt)).rejects.toThrow('the ledger is append-only')
      const kept = await rows(engine, 'select amount from transfer')
      expect(kept.map(({ amount }) => amount)).toEqual([5n])
      await engine.close()
      await database.stop()
    })

    test.if(kind.lasting)('are safe when several processes open a new database at once', async () => {
      const database = await untouched(kind)
      const outcomes = await Promise.all([1, 2, 3].map(() => openElsewhere(database.url)))
      expect(outcomes).toEqual(outcomes.map(() => ({ code: 0, said: '' })))
      const store = await openStore(database)
      expect((await store.ledger.audit()).every(({ ok }) => ok)).toBe(true)
      await store.close()
      await database.stop()
    })
  })
}

test('an address of another form is refused with the setting it comes from', async () => {
  await expect(openStore({ url: 'mysql://somewhere' })).rejects.toThrow('DATABASE_URL')
})

/** Words of SQL that change or remove what exists. */
const DOES_MORE =
  /\b(update|delete|drop|rename|insert|raise|alter (?!table \w+ add column)|create (or replace )?trigger)\b/i
/** Words of SQL that reject a row of the version before, which does not name the column. */
const NEEDS_MORE = /\badd column(?![^;]*\bdefault\b)[^;]*\bnot null\b/i

/**
 * Removes what the version before does not notice: changes of tables that the migration itself makes, also by triggers
 * on others after their changes; rows of such a table that go with those they belong to; an index that is made anew; a trigger
 * or its function that takes the place of one of its name, and sums more columns; a guard that is put in place of another and refuses less; and a table that becomes the one part of another of its
 * name and form, after waiting for a lock.
 */
const noticed = (text: string): string =>
  [...text.matchAll(/\bcreate table (\w+)/gi)]
    .reduce(
      (rest, [, made]) =>
        rest.replaceAll(new RegExp(`\\b(insert into|update|delete from) ${made}\\b`, 'gi'), ''),
      text,
    )
    .replaceAll(/\bdo update set\b/gi, '')
    .replaceAll(/\bon delete cascade\b/gi, '')
    .replaceAll(
      /\bdrop trigger (roll_up_\w+_month_\w+);\s*create trigger \1 after (?:(?!\bend;)[\s\S])*\bend;/gi,
      '',
    )
    .replaceAll(
      /\bcreate or replace function roll_up_\w+_month_\w+\(\) returns trigger(?:(?!\bend \$\$;)[\s\S])*\bend \$\$;/gi,
      '',
    )
    .replaceAll(/\bcreate trigger \w+ after (insert|update|delete) on \w+/gi, '')
    .replaceAll(
      /\bdrop trigger \w+(?: on \w+)?;(?:\s*create trigger \w+ before (?:update|delete)[^;]*(?:;|raise\([^;]*\); end;))+/gi,
      '',
    )
    .replaceAll(/\bdrop index (\w+);(?=\s*create index \1 on )/gi, '')
    .replaceAll(/\bdo \$\$(?:(?!\$\$)[\s\S])*\block table \w+ in(?:(?!\$\$)[\s\S])*\$\$;/gi, '')
    .replaceAll(
      /\balter table (\w+) rename to (\w+);\s*create table \1 \(like \2 including all\) partition by [^;]+;\s*alter table \1 attach partition \2 default\b/gi,
      '',
    )

test('a migration that says it only adds does no more', () => {
  const doesMore = ({ common, own }: Migration) =>
    [own.sqlite ?? '', own.postgres ?? '']
      .map((text) => noticed(`${common}\n${text}`.replaceAll(/--[^\n]*/g, '')))
      .some((text) => DOES_MORE.test(text) || NEEDS_MORE.test(text))
  expect(migrations.filter(({ adds }) => adds).filter(doesMore)).toEqual([])
  for (const common of [
    'drop table extra',
    'alter table extra rename to more',
    'alter table extra add column n bigint not null',
    'update extra set id = 1',
    'create table more (id text); create trigger t after insert on extra begin update extra set id = 1; end',
    'create table more (id text); create trigger t before insert on extra begin insert into more values (1); end',
    `create trigger t after delete on extra begin select raise(abort, 'no'); end`,
    'drop index n; create index m on extra (n)',
    'alter table extra rename to more; create table extra (id text) partition by range (id); alter table extra attach partition more default',
  ])
    expect(doesMore({ ...extra, common })).toBe(true)
  for (const common of [
    'alter table extra add column n bigint not null default 0; create index n on extra (n)',
    'alter table extra add column n text -- which is updated\n; create table more (id text primary key not null)',
    `create table more (id text); insert into more select id from extra;
     create trigger t after update on extra begin insert into more values (new.id) on conflict (id) do update set id = id; end`,
    'drop index n; create index n on extra (n, id)',
    'alter table extra rename to more; create table extra (like more including all) partition by range (id); alter table extra attach partition more default',
  ])
    expect(doesMore({ ...extra, common })).toBe(false)
})

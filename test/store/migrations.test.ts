/** The schema: whoever comes first brings it up to date, once, and never against what the database already is. */
import { describe, expect, test } from 'bun:test'
import type { Engine } from '../../src/store/engine/engine.ts'
import { type Migration, migrate, migrations, missingOf, newestOf } from '../../src/store/engine/migrate.ts'
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
  version: newestOf(migrations) + 1,
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
      const least = migrations.findLastIndex(({ adds }) => adds !== true)
      expect(await missingOf(engine, migrations.slice(0, least + 1))).toEqual([])
      const more = { ...extra, version: extra.version + 1, common: 'drop table extra' }
      await migrate(engine, [...migrations, { ...extra, adds: true }, more])
      await expect(migrate(engine)).rejects.toThrow('the database is newer than this program')
      await engine.close()
      await database.stop()
    })

    test('take a ledger whose schema was made in steps for what it is, and refuse one that lacks some', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      await migrate(engine, migrations.slice(0, 1))
      // As the programs before wrote them: a row each step, the last one by its own name and checksum.
      const last = 'ac9180b527276fdcdbdbab81975c1aa628af76956f21b2b8afe0aced5a6c2f5b'
      await rows(engine, `update schema_migration set name = 'batches', checksum = '${last}'`)
      for (let version = 1; version <= 40; version++)
        await rows(engine, `insert into schema_migration values (${version}, 'step', 'its own', 0)`)
      expect(await migrate(engine)).toBe(migrations.length - 1)
      expect(await missingOf(engine, migrations)).toEqual([])
      expect(await migrate(engine, [...migrations, extra])).toBe(1)
      await rows(engine, 'delete from schema_migration where version > 40')
      const older = /the database has schema 40, .*: start Turnpike of commit [0-9a-f]{7} on it once/
      await expect(migrate(engine)).rejects.toThrow(older)
      await expect(missingOf(engine, migrations)).rejects.toThrow(older)
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

    test('make the alerts of wallets rules, and tell none again', async () => {
      const database = await untouched(kind)
      const engine = openEngine(database)
      const before = migrations.filter(({ version }) => version < 60)
      await migrate(engine, before)
      const wallet = async (id: string, rules: object, below: string, state: string) => {
        const account = 'id, bounded, org_id, name, created_at'
        await rows(engine, `insert into account (${account}) values ('${id}', 1, 'o', '${id}', 0)`)
        const columns = 'wallet_id, rules, alert_below, alert_state, version, changed_at'
        const values = `'${id}', '${JSON.stringify(rules)}', ${below}, '${state}', 1, 7`
        await rows(engine, `insert into wallet_rules (${columns}) values (${values})`)
      }
      const alertWebhookUrl = 'https://example.com/low'
      await wallet('both', { alertBelow: '5', alertWebhookUrl }, '5', 'done')
      await wallet('url', { alertWebhookUrl }, 'null', 'armed')
      await wallet('amount', { alertBelow: '12345678901234567' }, 'null', 'armed')
      await wallet('none', {}, 'null', 'armed')
      await rows(engine, `insert into auto_top_up (wallet_id, paused) values ('url', 'card_declined')`)
      await migrate(engine)
      const made = await rows(engine, 'select id, subject, amount, channels from alert_rule order by id')
      expect(made).toEqual([
        { id: 'amount', subject: 'amount', amount: 12345678901234567n, channels: '[]' },
        { id: 'both', subject: 'both', amount: 5n, channels: '["both"]' },
        { id: 'url', subject: 'url', amount: null, channels: '["url"]' },
      ])
      const channels = await rows(engine, 'select id, target from alert_channel order by id')
      expect(channels.map(({ id, target }) => [id, target])).toEqual([
        ['both', alertWebhookUrl],
        ['url', alertWebhookUrl],
      ])
      const told = await rows(engine, 'select rule_id, step from alert order by rule_id')
      expect(told.map(({ rule_id, step }) => [rule_id, Number(step)])).toEqual([
        ['both', 100],
        ['url', -1],
      ])
      await engine.close()
      await database.stop()
    })

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
 * Removes what the version before does not notice: rows for its tables of alerts, in a form that it knows; changes of tables
 * that the migration itself makes, also by triggers
 * on others after their changes; rows of such a table that go with those they belong to; an index or a view that is made anew; a trigger
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
    .replaceAll(/\binsert into alert(_rule|_channel)?\s*\([^)]*\)\s*select\b/gi, '')
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
    .replaceAll(/\bdrop index (\w+);(?=\s*create (?:unique )?index \1 on )/gi, '')
    .replaceAll(/\bdrop view (\w+);(?=\s*create view \1 as\b)/gi, '')
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
    'drop view n; create view m as select 1 as one',
    'alter table extra rename to more; create table extra (id text) partition by range (id); alter table extra attach partition more default',
  ])
    expect(doesMore({ ...extra, common })).toBe(true)
  for (const common of [
    'alter table extra add column n bigint not null default 0; create index n on extra (n)',
    'alter table extra add column n text -- which is updated\n; create table more (id text primary key not null)',
    `create table more (id text); insert into more select id from extra;
     create trigger t after update on extra begin insert into more values (new.id) on conflict (id) do update set id = id; end`,
    'drop index n; create index n on extra (n, id)',
    'drop index n; create unique index n on extra (n, id); drop view v; create view v as select 1 as one, 2 as two',
    'alter table extra rename to more; create table extra (like more including all) partition by range (id); alter table extra attach partition more default',
  ])
    expect(doesMore({ ...extra, common })).toBe(false)
})

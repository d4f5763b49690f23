/**
 * The stores' SQL in the form that SQLite takes. Parameters are `?1`. One that is compared is written `+?1`: SQLite
 * plans a join again each time another value is bound to a parameter that it compares, which costs ten times as much as
 * the statement. It does not look behind a plus, which changes no value. Source: sqlite3_bind in sqlite.org/c3ref, and
 * `SQLITE_DBCONFIG_ENABLE_QPSG`, which Bun cannot set.
 */
export const sqliteText = (text: string): string =>
  text.replaceAll(/([=<>] ?)?\$(\d+)/g, (_, compared: string | undefined, number: string) =>
    compared === undefined ? `?${number}` : `${compared}+?${number}`,
  )

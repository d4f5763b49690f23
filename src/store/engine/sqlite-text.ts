/**
 * SQL of the stores as SQLite takes it. Parameters are `?1`. One that is compared is written `+?1`: SQLite plans a join
 * anew each time another value is bound to a parameter that it compares, which costs ten times what the statement does.
 * Behind a plus, which changes no value, it does not look at it. Source: sqlite3_bind in sqlite.org/c3ref, and
 * `SQLITE_DBCONFIG_ENABLE_QPSG`, which Bun cannot set.
 */
export const sqliteText = (text: string): string =>
  text.replaceAll(/([=<>] ?)?\$(\d+)/g, (_, compared: string | undefined, number: string) =>
    compared === undefined ? `?${number}` : `${compared}+?${number}`,
  )

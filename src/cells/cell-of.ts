/** Which cell a credential belongs to. Its text says so: no look-up, no secret, no waiting. */

/** All credentials that a cell makes: drawn ones, those derived under its secret, and access tokens of agents. */
const NAMED =
  /^(?:(?:sk|tm)-([a-z][a-z0-9]{0,7})-(?:[A-Za-z0-9]{43}|(?:trial)?[0-9a-f]{64})|sk-at-([a-z][a-z0-9]{0,7})-key_[\w-]+)$/

/** The cell whose name the token carries; undefined for one without, which is the first cell's. */
export const cellOf = (token: string): string | undefined => {
  const match = NAMED.exec(token)
  return match?.[1] ?? match?.[2]
}

/** What stands before the random part of a credential of this cell: `c2-`, or nothing. */
export const inCell = (cell: string | undefined): string => (cell === undefined ? '' : `${cell}-`)

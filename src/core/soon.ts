/** Values that are mostly known at once and sometimes only later. */

/**
 * What `go` makes of the value, with what it needs beside it: at once where the value is known. A closure for the other case
 * would cost every call its scope, so it is made in a function of its own.
 */
export const whenKnown = <T, A, B, R>(
  value: T | Promise<T>,
  go: (value: T, a: A, b: B) => R | Promise<R>,
  a: A,
  b: B,
): R | Promise<R> => (value instanceof Promise ? later(value, go, a, b) : go(value, a, b))

const later = <T, A, B, R>(
  value: Promise<T>,
  go: (value: T, a: A, b: B) => R | Promise<R>,
  a: A,
  b: B,
): Promise<R> => value.then((known) => go(known, a, b))

/** Values that are usually known at once and sometimes only later. */

/**
 * Applies `go` to the value, together with `a` and `b`; at once if the value is known. The other case has its own
 * function, because a closure here would cost every call its scope.
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

/** The same while it is made: a spread for each member that may be absent would cost more than the member. */
export type Mutable<T> = { -readonly [name in keyof T]: T[name] }

/** The same type while it is being built. One spread per optional member would cost more than the member itself. */
export type Mutable<T> = { -readonly [name in keyof T]: T[name] }

/** How the public members of a dialect are listed. */

export type PublicSchema = {
  /** The declaration in the library: an interface or a class. */
  readonly name: string
  readonly file: string
  /** The place of such an object in the request. */
  readonly at: string
  readonly samples: Readonly<Record<string, unknown>>
}

export type PublicDialect = {
  readonly request: object
  readonly schemas: readonly PublicSchema[]
  /** Members that mean something to this server itself, by path. */
  readonly own: readonly string[]
}

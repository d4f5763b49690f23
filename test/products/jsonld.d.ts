/** The part of the official JSON-LD processor that tests use; it brings no types. */
declare module 'jsonld' {
  type Loaded = { contextUrl: undefined; documentUrl: string; document: unknown }
  const jsonld: {
    expand(
      document: object,
      options: { documentLoader: (url: string) => Promise<Loaded> },
    ): Promise<readonly object[]>
  }
  export = jsonld
}

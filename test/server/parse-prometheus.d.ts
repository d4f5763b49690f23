/** The part of the parser that tests use; it brings no types of its own. */
declare module 'parse-prometheus-text-format' {
  type Metric = {
    readonly labels?: Readonly<Record<string, string>>
    readonly value?: string
    readonly count?: string
    readonly buckets?: Readonly<Record<string, string>>
  }
  type Family = {
    readonly name: string
    readonly help: string
    readonly type: string
    readonly metrics: readonly Metric[]
  }
  const parse: (text: string) => readonly Family[]
  export = parse
}

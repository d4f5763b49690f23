/** The widest type is found, however it is put together. */
import { expect, test } from 'bun:test'
import { widest } from './members.ts'

const small = `/** Small. */
export type Small = {
  readonly a: string
  /** What it does. */
  b(c: { readonly d: number }): Promise<void>
}
`
const nested = `export type Nested = {
  readonly a: {
    readonly x: string
    readonly y: string
    readonly z: string
  }
}
`

test('members are counted at depth one', () => {
  expect(widest([nested, small])).toEqual({ name: 'Small', members: 2 })
})

test('a type has the members of all its parts', () => {
  const sum = 'export type Sum = Small &\n  Nested & {\n    readonly e: 1\n    f?(): void\n  }\n'
  expect(widest([small, sum, nested])).toEqual({ name: 'Sum', members: 5 })
})

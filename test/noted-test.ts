/** `bun:test` whose tests note their names when they begin: the runtime reports a name only when its test has ended. */
import { test as plain } from 'bun:test'
import { relative } from 'node:path'
import { noteNow } from './now.ts'

export * from 'bun:test'

type Callable = (...args: never[]) => unknown

const isCallable = (value: unknown): value is Callable => typeof value === 'function'

/**
 * The same function, which notes the test's name first. Its length stays the same, because the runtime sees by it
 * whether it wants a callback.
 */
const noting = (name: unknown, body: Callable): Callable => {
  const noted = (...args: never[]) => {
    noteNow(`${relative(process.cwd(), Bun.main)}: ${String(name)}`)
    return body(...args)
  }
  return Object.defineProperty(noted, 'length', { value: body.length })
}

/** `test`, and everything made from it: `test.each(…)`, `test.skipIf(…)`, … */
const withNotes = <T extends Callable>(from: T): T =>
  new Proxy(from, {
    apply: (_from, _self, args: unknown[]) => {
      const given = args.map((each) => (isCallable(each) ? noting(args[0], each) : each))
      const made = from(...(given as never[]))
      return isCallable(made) ? withNotes(made) : made
    },
    get: (_from, name) => {
      const value: unknown = Reflect.get(from, name)
      return isCallable(value) ? withNotes(value.bind(from) as Callable) : value
    },
  })

export const test = withNotes(plain)

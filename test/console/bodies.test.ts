/** Wrong bodies of the console are refused in our words, never in those of the library that reads them. */
import { expect, test } from 'bun:test'
import type { z } from 'zod'
import { consoleRoutes } from '../../src/console/routes.ts'
import { readAs } from '../../src/core/body.ts'
import { Refusal } from '../../src/core/refusal.ts'

const values = [null, 5, -1, 1.5, 'x', '', true, [], {}, ['x'], [{}], { a: 1 }, 'x'.repeat(5_000)]
const itsOwn = /Invalid|Unrecognized|Too (small|big)|expected|received|nonoptional/

const routes = consoleRoutes.flatMap(({ method, path, body }) =>
  body === undefined ? [] : [[method, path, body] as const],
)

/** The names of its members, from its schema in the reference. */
const namesIn = (body: z.ZodType): readonly string[] => {
  const schema = body.toJSONSchema({ io: 'input' })
  const all = [schema, ...Object.values(schema.$defs ?? {})]
  return all.flatMap(({ properties = {} }) => Object.keys(properties))
}

test.each(routes)('%s %s', (_method, _path, body) => {
  const names = namesIn(body)
  expect(names.length).toBeGreaterThan(0)
  const bodies = [{}, { stranger: 1 }, ...names.flatMap((name) => values.map((value) => ({ [name]: value })))]
  let refused = 0
  for (const sent of bodies) {
    const read = readAs(body, sent)
    if (!(read instanceof Refusal)) continue
    refused += 1
    expect(read.message).not.toMatch(itsOwn)
  }
  expect(refused).toBeGreaterThan(0)
})

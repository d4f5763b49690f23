/** The matrix of official clients and vendor dialects: every cell is a test, and the page in docs has their results. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type FiveVendors, listenWithVendors, vendorIds } from './harness.ts'
import { cell, compatibilityPage, drivers, featureNames, features, lackOf, modelFor } from './matrix.ts'

const page = `${import.meta.dir}/../../docs/compatibility.md`
const passed = new Set<string>()
let it: FiveVendors

beforeAll(async () => {
  it = await listenWithVendors()
})

afterAll(() => it.stop())

for (const driver of drivers)
  for (const vendor of vendorIds)
    describe(`${driver.name} → ${vendor}`, () => {
      for (const feature of featureNames) {
        if (lackOf(driver, feature) !== undefined) continue
        test(feature, async () => {
          const memory = it.memories[vendor]
          memory.refused.length = 0
          const client = driver.open({ baseURL: it.baseURL, key: it.key })
          await features[feature](client, modelFor(vendor), driver).catch((error: unknown) => {
            if (memory.refused.length > 0) throw new Error(`the vendor refused: ${memory.refused.join('; ')}`)
            throw error
          })
          passed.add(cell(driver, vendor, feature))
        })
      }
    })

test('docs/compatibility.md is what this run found: run npm run compatibility', async () => {
  const found = await compatibilityPage(passed)
  console.log(found)
  if (process.env.WRITE_COMPATIBILITY === 'yes') await Bun.write(page, found)
  expect(await Bun.file(page).text()).toBe(found)
})

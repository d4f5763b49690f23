/** The catalogue of a gateway with one model of one vendor. */
import type { Model } from '../../src/core/model.ts'
import type { Offering } from '../../src/gateway/parts/gateway.ts'
import type { VendorSetup } from '../../src/vendors/setup.ts'
import type { Vendor } from '../../src/vendors/vendor.ts'

const BASE_URL = 'http://mock.invalid/v1'

type OneModel = Pick<VendorSetup, 'secrets'> &
  Partial<Pick<VendorSetup, 'fetch' | 'baseUrl'>> & {
    /** The vendor's data beside its name. */
    readonly vendor: Partial<Vendor>
  }

export const oneModel = (model: Model, { vendor, baseUrl = BASE_URL, ...setup }: OneModel): Offering => ({
  catalogue: {
    find: (name) => (name === model.id ? model : undefined),
    list: () => [model],
    ended: () => undefined,
  },
  vendors: new Map([
    [
      'mock',
      {
        vendor: {
          id: 'mock',
          name: 'Mock',
          keyVariable: 'MOCK_API_KEY',
          baseUrl,
          surfaces: [],
          outputBound: 'max_tokens',
          takesStreamOptions: true,
          cancel: 'stop',
          ...vendor,
        },
        baseUrl,
        ...setup,
      },
    ],
  ]),
  failover: new Map(),
})

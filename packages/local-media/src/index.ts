/** The entry: what the program learns of this package. The interface is src/vendors/local/product.ts. */
import type { LocalPackage } from '../../../src/vendors/local/product.ts'
import { hasPackage } from './packages.ts'
import { all } from './products.ts'

/** What can be made with the npm packages that `has` knows, by default those of this installation. */
export const localMedia = (has: (name: string) => boolean = hasPackage): LocalPackage => {
  const [here, absent] = [true, false].map((wanted) => all.filter(({ needs }) => needs.every(has) === wanted))
  return {
    products: (here ?? []).map(({ product }) => product),
    absent: (absent ?? []).map(({ product, needs }) => ({ name: product.name, packages: needs })),
    ...(has('mediabunny') ? { length: async () => (await import('./length.ts')).makeLength } : {}),
  }
}

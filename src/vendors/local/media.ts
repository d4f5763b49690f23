/** The vendor `local` as a seller of the products that a package makes. */
import type { VendorMedia } from '../../media/product.ts'
import { mostUnits } from '../../media/rate-card.ts'
import { bytes, facts, job, pictures, text } from './media-shapes.ts'
import type { LocalProduct } from './product.ts'

const shapeOf = ({ name, makes, job: isJob, ...product }: LocalProduct) => {
  const measure = product.measure ?? ((inputs) => mostUnits(product.card, inputs))
  if (isJob !== undefined) return job(name)
  switch (makes) {
    case 'images':
      return pictures
    case 'text':
      return text(measure)
    case 'facts':
      return facts(measure)
    case 'bytes':
      return bytes((inputs) => measure(inputs, {}))
  }
}

/** The products as the vendor sells them. If a caller hangs up, the work ends and is not billed. */
export const vendorMedia = (products: readonly LocalProduct[]): VendorMedia => ({
  stops: true,
  models: products.map((product) => {
    const { makes: _, measure: _measure, bytesFrom: _bytes, job: _job, load: _load, ...record } = product
    return { ...record, shape: shapeOf(product) }
  }),
})

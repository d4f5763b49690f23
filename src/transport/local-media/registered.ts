/** The package of built-in products: the entry that package.json names `#local-media`, if this installation has it. */
import type { LocalPackage } from '../../vendors/local/product.ts'

/** Nothing is sold and nothing measured; chat goes on. */
const none: LocalPackage = { products: [], absent: [{ name: '*', packages: ['packages/local-media'] }] }

const load = async (): Promise<LocalPackage> => {
  try {
    return (await import('#local-media')).localMedia()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return none
    throw error
  }
}

/** Read once, when the process starts. */
export const registered = await load()

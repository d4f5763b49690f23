/** What draws bills as PDFs, loaded when the first one is asked for; the file for data planes alone is without it. */
import { refuse } from '../../core/refusal.ts'

/** Throws the refusal of a program that cannot draw. */
export const drawing = async () => {
  try {
    return await import('./draw-bill.ts')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
      throw refuse('not_found', 'This server draws no PDFs.')
    throw error
  }
}

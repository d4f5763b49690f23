/** The console's pages and files in the API reference. */
import { z } from 'zod'

export const page = z.string().meta({ id: 'ConsolePage' })
export const script = z.string().meta({ id: 'ConsoleScript' })

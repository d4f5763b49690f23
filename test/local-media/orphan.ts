/** A server that gives its pool endless work: its test kills it, and then looks for the process it left. */
import { fileURLToPath } from 'node:url'
import { openPool } from '../../src/transport/local-media/pool.ts'

const pool = openPool({ program: fileURLToPath(new URL('./stuck.ts', import.meta.url)) })
await pool.run({ product: '', inputs: { how: 'loop', file: process.argv[2] ?? '' } })

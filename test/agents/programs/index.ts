/** All client programs. */
import { agents } from './agents.ts'
import { libraries } from './libraries.ts'
import { payers } from './payers.ts'
import type { Program } from './program.ts'

export const programs: readonly Program[] = [...agents, ...libraries, ...payers]

/** All clients of the gate. */
import { agents } from './agents.ts'
import type { Program } from './program.ts'

export const programs: readonly Program[] = [...agents]

/** The programs of the gate. */
import { claudeCode } from './claude-code.ts'
import type { Program } from './program.ts'

export const programs: readonly Program[] = [claudeCode]

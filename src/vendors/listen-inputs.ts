/** The inputs that AssemblyAI's and ElevenLabs' transcription share: a recording, its language, and which times are wanted. */
import { z } from 'zod'
import { soundInput } from '../media/sound-input.ts'

export const listenInputs = z.strictObject({
  file: soundInput,
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .optional(),
  timestamps: z.enum(['segment', 'word']).default('segment'),
})

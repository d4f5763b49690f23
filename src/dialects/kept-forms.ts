/** Which form an answer is kept in. */
import { interactionForm } from './interactions/kept.ts'
import type { KeptForm } from './kept-form.ts'
import { responseForm } from './responses/kept.ts'

/** The form of the answer that is kept under this name. */
export const keptFormOf = (id: string): KeptForm =>
  interactionForm.names(id) ? interactionForm : responseForm

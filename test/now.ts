/** What runs now, in the file that `TEST_NOW` names. `npm test` reads it when it must end a part that hangs. */
import { writeFileSync } from 'node:fs'

/** A test that takes this long hangs; a busy machine does not reach it. */
export const PATIENCE_MS = 600_000

/** Notes what begins; does nothing if nobody asked for it. */
export const noteNow = (what: string): void => {
  if (process.env.TEST_NOW !== undefined) writeFileSync(process.env.TEST_NOW, what)
}

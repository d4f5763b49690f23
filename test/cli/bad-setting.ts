/** The message that an operator gets about a wrong setting. */
import { BadSetting } from '../../src/settings/bad-setting.ts'

/** The message of the refusal, or `accepted`. */
export const messageOf = (work: () => unknown): string => {
  try {
    work()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof BadSetting)) throw error
    return error.message
  }
}

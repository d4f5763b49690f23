/**
 * The seed from which the tests draw their cases. `npm test` draws the same ones each time, so that a failure is the
 * change's fault; `npm run seeds` draws new ones and prints where they start. SEED=<number> plays one again.
 */
import fc from 'fast-check'

const asked = process.env.SEED ?? '20261122'
export const seed = asked === 'new' ? Math.floor(Math.random() * 2 ** 31) : Number(asked)
if (!Number.isSafeInteger(seed)) throw new Error(`SEED is a whole number or 'new', not '${asked}'.`)
fc.configureGlobal({ seed })
if (asked === 'new') console.error(`SEED=${seed}`)

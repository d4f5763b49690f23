/** Sends calls again that a late ledger refused: on a busy machine it may answer too late. */
import { BUSY_MS } from './until.ts'

const AGAIN_MS = 100

const isOfLateLedger = async (answer: Response): Promise<boolean> =>
  answer.status === 503 && /The (server has lost touch with the )?ledger\b/.test(await answer.clone().text())

/** Asks until the answer is no longer that the ledger is late, or for as long as a busy machine may take. */
export const comingBack = async (ask: () => Promise<Response>): Promise<Response> => {
  const untilMs = performance.now() + BUSY_MS
  for (;;) {
    const answer = await ask()
    if (performance.now() >= untilMs || !(await isOfLateLedger(answer))) return answer
    await Bun.sleep(AGAIN_MS)
  }
}

/** `fetch` of a caller who tries again. */
export const fetchAgain = (url: string, init: RequestInit = {}): Promise<Response> =>
  comingBack(() => fetch(url, init))

/** Sweeps expired assets while a server runs. */
import type { Log } from '../core/log.ts'
import { type Clock, inRounds } from '../core/time.ts'
import type { Assets } from './assets.ts'

const EVERY_MS = 60_000

type Parts = { readonly assets: Pick<Assets, 'sweep'>; readonly clock: Clock; readonly log: Log }

/** Runs until the returned function is called. */
export const keepSweeping = ({ assets, clock, log }: Parts): (() => void) =>
  inRounds({ clock, log, pauseMs: () => EVERY_MS, failed: 'assets could not be swept' }, async () => {
    const ops = await assets.sweep()
    if (ops > 0) log.info('assets were swept', { ops })
  })

/**
 * Several processes on one port: the parent starts them, restarts one that dies, passes on signals, and waits. They end
 * when it does.
 */
import type { Subprocess } from 'bun'
import type { Log } from '../../core/log.ts'
import { programWith } from '../../transport/own-program.ts'
import { type ConfigMessage, gatherConfig } from './worker-config.ts'
import { gatherMetrics, type MetricsMessage } from './worker-metrics.ts'

const RESTART_FIRST_MS = 100
const RESTART_LONGEST_MS = 10_000
const HEALTHY_MS = 30_000
/** A worker that has not ended so long after its time to drain hangs, or is stopped. */
const LATE_MS = 2_000

/** Runs `count` workers of this program until a signal has ended them all, for which each has the time to drain. */
export const runWorkers = async (count: number, drainMs: number, log: Log): Promise<void> => {
  let stopping = false
  let proven = false
  const running = new Set<Subprocess>()
  const metrics = gatherMetrics()
  const config = gatherConfig()
  const pass = (signal: 'SIGTERM' | 'SIGINT') => {
    stopping = true
    for (const worker of running) worker.kill(signal)
    setTimeout(killLate, drainMs + LATE_MS).unref()
  }
  const killLate = () => {
    for (const worker of running) worker.kill('SIGKILL')
  }
  /** If the first start fails, for example because the port is taken, every other start would fail too. */
  const giveUp = (code: number) => {
    process.exitCode = code
    pass('SIGTERM')
  }
  process.on('SIGTERM', () => pass('SIGTERM'))
  process.on('SIGINT', () => pass('SIGINT'))
  process.on('SIGHUP', () => void config.ask('apply'))
  const keepAlive = async (index: number): Promise<void> => {
    for (let pauseMs = RESTART_FIRST_MS; !stopping; ) {
      const startedMs = performance.now()
      // The first worker prints the greeting for all.
      const role = index === 0 ? 'greeter' : 'silent'
      const worker = Bun.spawn(programWith('serve', '--worker', role), {
        env: { ...process.env, WORKERS: String(count) },
        // Nothing is ever written to a worker's input: it closes when this process has ended, and so the worker ends.
        stdio: ['pipe', index === 0 ? 'inherit' : 'ignore', 'inherit'],
        ipc: (message: MetricsMessage | ConfigMessage, from) =>
          void (message.type === 'config' || message.type === 'configured'
            ? config.received(from, message)
            : metrics.received(from, message)),
      })
      running.add(worker)
      metrics.started(worker)
      config.started(worker)
      const code = await worker.exited
      running.delete(worker)
      metrics.ended(worker)
      config.ended(worker)
      if (stopping) return
      const healthy = performance.now() - startedMs > HEALTHY_MS
      proven ||= healthy
      if (!proven && code !== 0 && worker.signalCode === null) return giveUp(code)
      log.error('a worker ended; another is started', { ops: index + 1, outcome: `code ${code}` })
      pauseMs = healthy ? RESTART_FIRST_MS : Math.min(pauseMs * 2, RESTART_LONGEST_MS)
      await Bun.sleep(pauseMs)
    }
  }
  await Promise.all(Array.from({ length: count }, (_, index) => keepAlive(index)))
}

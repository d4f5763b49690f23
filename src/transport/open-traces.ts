/**
 * Traces over OTLP/HTTP, by OpenTelemetry's own packages; loaded only if an endpoint is set. A call hands over its span
 * and does not wait; spans that cannot be sent are dropped, and the log says so.
 */
import type { Log } from '../core/log.ts'
import { messageOf } from '../core/message-of.ts'

type SpanPart = {
  readonly name: string
  readonly outward?: true
  /** Monotonic milliseconds. */
  readonly fromMs: number
  readonly toMs: number
  readonly failed?: boolean
  readonly attributes?: Readonly<Record<string, string | number | boolean | readonly string[]>>
}

type Parent = { readonly traceId: string; readonly spanId: string; readonly sampled: boolean }

type Traced = {
  readonly parent: Parent | undefined
  readonly call: SpanPart
  readonly steps: readonly SpanPart[]
}

type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | 'parentbased_always_on'
  | 'parentbased_always_off'
  | 'parentbased_traceidratio'

type TraceOptions = {
  readonly endpoint: string
  readonly serviceName: string
  readonly version: string
  readonly instance: string
  readonly sampler: SamplerName
  /** The share of calls to trace when their caller did not decide. */
  readonly ratio: number
  readonly random: () => number
  readonly log: Log
}

type OpenTraces = {
  isSampled(parent: Parent | undefined): boolean
  end(span: Traced, at: { readonly nowMs: number; readonly now: number }): void
  /** Sends what waits, for at most this long. */
  close(): Promise<void>
}

const CLOSE_MS = 2_000
const WARN_MS = 60_000
/** How many spans may wait; more are dropped. */
const QUEUE_MAX = 8_192
const BATCH_MAX = 512
const SECOND_MS = 1_000
const NANO_A_MS = 1_000_000

/** Loads the packages and gets ready to send. Rejects if they are not installed. */
export const openTraces = async (it: TraceOptions): Promise<OpenTraces> => {
  const [api, sdk, { resourceFromAttributes }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  const url = `${it.endpoint.replace(/\/$/, '')}/v1/traces`
  const exporter = telling(new OTLPTraceExporter({ url }), it.log)
  const provider = new sdk.TracerProvider({
    resource: resourceFromAttributes({
      'service.name': it.serviceName,
      'service.version': it.version,
      'service.instance.id': it.instance,
    }),
    // Sampling was decided before, so everything that gets here is sent.
    sampler: new sdk.AlwaysOnSampler(),
    spanProcessors: [
      new sdk.BatchSpanProcessor({ exporter, maxQueueSize: QUEUE_MAX, maxExportBatchSize: BATCH_MAX }),
    ],
  })
  const tracer = provider.getTracer('turnpike', it.version)
  const byId = new sdk.TraceIdRatioBasedSampler(it.ratio)
  const { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = api
  const isChosen = (parent: Parent | undefined): boolean =>
    parent === undefined
      ? it.random() < it.ratio
      : byId.shouldSample(ROOT_CONTEXT, parent.traceId).decision === sdk.SamplingDecision.RECORD_AND_SAMPLED
  return {
    isSampled: (parent) => {
      if (it.sampler.startsWith('parentbased_') && parent !== undefined) return parent.sampled
      if (it.sampler.endsWith('always_on')) return true
      return it.sampler.endsWith('traceidratio') && isChosen(parent)
    },
    end: ({ parent, call, steps }, { nowMs, now }) => {
      const at = (ms: number): [number, number] => {
        const wallMs = now - nowMs + ms
        const seconds = Math.floor(wallMs / SECOND_MS)
        return [seconds, Math.round((wallMs - seconds * SECOND_MS) * NANO_A_MS)]
      }
      const tell = (part: SpanPart, kind: number, context: typeof ROOT_CONTEXT) => {
        // Its type wants arrays that it may change, and it changes none.
        const attributes = (part.attributes ?? {}) as Record<string, string>
        const span = tracer.startSpan(part.name, { kind, startTime: at(part.fromMs), attributes }, context)
        if (part.failed === true) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end(at(part.toMs))
        return span
      }
      const above =
        parent === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, { ...parent, traceFlags: 1, isRemote: true })
      const context = trace.setSpan(ROOT_CONTEXT, tell(call, SpanKind.SERVER, above))
      for (const step of steps)
        tell(step, step.outward === true ? SpanKind.CLIENT : SpanKind.INTERNAL, context)
    },
    close: async () => {
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref())
      await Promise.race([provider.shutdown().catch(() => undefined), late])
    },
  }
}

type Exporter = {
  export(spans: never[], done: (result: { readonly code: number; readonly error?: Error }) => void): void
  shutdown(): Promise<void>
}

/** The exporter; it logs failures once a minute. */
const telling = <E extends Exporter>(exporter: E, log: Log): E => {
  let warnedMs = Number.NEGATIVE_INFINITY
  const send = exporter.export.bind(exporter)
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.code !== 0 && performance.now() - warnedMs > WARN_MS) {
        warnedMs = performance.now()
        log.warn('spans could not be exported and are dropped', { error: messageOf(result.error) })
      }
      done(result)
    })
  return exporter
}

/** Settings for monitoring the server: its metrics and traces. Names with OTEL_ are those of OpenTelemetry. */
import { matching, oneOf, place, secret, share } from './form.ts'
import type { SettingGroup } from './setting.ts'

export const watchSettings = {
  metrics: {
    name: 'METRICS',
    is: place('token', 'off'),
    fallback: 'token',
    meaning:
      'Where metrics are told, to whom: at `GET /metrics` of the server to who sends a token (`token`), on a port of their own (`9464`, which only this machine reaches, or `0.0.0.0:9464`), or nowhere (`off`).',
  },
  metricsToken: {
    name: 'METRICS_TOKEN',
    is: secret(/^[\x21-\x7e]{16,200}$/, 'at least 16 characters without blanks'),
    meaning:
      'The token for `GET /metrics`. Without it one is made of the secret of the keys, which `turnpike top` knows; on a port of its own none is asked for.',
  },
  traces: {
    endpoint: {
      name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      is: matching(/^https?:\/\/\S+$/, 'an address such as http://localhost:4318'),
      meaning:
        'Where spans of calls go, by OTLP over HTTP; without it none are made. OTEL_EXPORTER_OTLP_HEADERS and the others of the exporter are read as its documentation says.',
    },
    serviceName: {
      name: 'OTEL_SERVICE_NAME',
      is: matching(/^.{1,200}$/, 'a name'),
      fallback: 'turnpike',
      meaning: 'The name of the server in its traces.',
    },
    sampler: {
      name: 'OTEL_TRACES_SAMPLER',
      is: oneOf(
        'parentbased_traceidratio',
        'parentbased_always_on',
        'parentbased_always_off',
        'traceidratio',
        'always_on',
        'always_off',
      ),
      fallback: 'parentbased_traceidratio',
      meaning:
        'Which calls are traced. Those of `parentbased_` do what the `traceparent` of the caller says; where callers are strangers, take one of the others.',
    },
    ratio: {
      name: 'OTEL_TRACES_SAMPLER_ARG',
      is: share(),
      fallback: '0.01',
      meaning:
        'The share of calls that a sampler by ratio traces; a traced call costs about a quarter more CPU.',
    },
  },
} as const satisfies SettingGroup

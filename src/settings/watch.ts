/** Settings for monitoring the server: its metrics and traces. Names with OTEL_ are those of OpenTelemetry. */
import { block, list, matching, oneOf, place, secret, share } from './form.ts'
import type { SettingGroup } from './setting.ts'

export const watchSettings = {
  metrics: {
    name: 'METRICS',
    is: place('token', 'off'),
    fallback: 'token',
    meaning:
      'Where metrics are served, and to whom: at `GET /metrics` of the server, with a token (`token`); on a port of their own (`9464`, which only this machine reaches, or `0.0.0.0:9464`); or nowhere (`off`).',
  },
  metricsAddresses: {
    name: 'METRICS_ADDRESSES',
    is: list(block(), 'addresses or blocks such as 10.0.0.0/8, separated by commas'),
    fallback: '',
    meaning: 'From which addresses or blocks the port of METRICS takes connections; empty takes all.',
  },
  metricsToken: {
    name: 'METRICS_TOKEN',
    is: secret(/^[\x21-\x7e]{16,200}$/, 'at least 16 characters without blanks'),
    meaning:
      'The token for `GET /metrics`. Without it, one is derived from the secret of the keys, and `turnpike top` knows it; on a port of its own no token is needed.',
  },
  metricsTags: {
    name: 'METRICS_TAGS',
    is: list(
      matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, 'the name of a tag'),
      'names of tags, separated by commas',
    ),
    fallback: '',
    meaning:
      'The tags by whose values calls and charges are counted in the metrics, such as `team,feature`. Of each metric the first 200 series are kept and the rest is counted as `other`; name no tag of end users.',
  },
  traces: {
    endpoint: {
      name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
      is: matching(/^https?:\/\/\S+$/, 'an address such as http://localhost:4318'),
      meaning:
        'Where spans of calls are sent, by OTLP over HTTP; without it there are none. OTEL_EXPORTER_OTLP_HEADERS and the other variables of the exporter work as its documentation says.',
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
        'Which calls are traced. The samplers with `parentbased_` follow the `traceparent` of the caller; if callers are strangers, use one of the others.',
    },
    ratio: {
      name: 'OTEL_TRACES_SAMPLER_ARG',
      is: share(),
      fallback: '0.01',
      meaning:
        'The share of calls that a ratio sampler traces; a traced call costs about a quarter more CPU.',
    },
  },
} as const satisfies SettingGroup

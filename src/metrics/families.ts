/**
 * Every metric of `GET /metrics`: its name, what it counts, its labels, and how the values of several processes are
 * merged.
 */

export type Family = {
  /** Without the `_total` at the end of counters. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Each has a bounded set of values; never a key, wallet or caller, whose figures are in the ledger. */
  readonly labels: readonly string[]
  /** Upper bounds of a histogram's buckets, except the last, which has none. */
  readonly bounds?: readonly number[]
  /** How gauges of several processes are merged; by default they are added. */
  readonly together?: 'most' | 'least'
  /** Counted in nano-USD, shown in USD. */
  readonly money?: true
  /**
   * The most series it may have. Strangers can create some of these by requesting anything, so they must leave room for
   * those of calls.
   */
  readonly seriesMax?: number
}

const CALL = ['vendor', 'model', 'endpoint'] as const
const KEY = ['vendor', 'key', 'model'] as const
const TIMES = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const FIRST = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const PACE = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 1]
const SHORT = [0.00025, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 1]
const LOOP = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

const counter = (name: string, help: string, labels: readonly string[] = []) =>
  ({ name: `turnpike_${name}`, type: 'counter', help, labels }) as const satisfies Family

const histogram = (
  name: string,
  help: string,
  { bounds, labels = [] }: { readonly bounds: readonly number[]; readonly labels?: readonly string[] },
) => ({ name: `turnpike_${name}`, type: 'histogram', help, labels, bounds }) as const satisfies Family

const gauge = (name: string, help: string, more: Partial<Family> = {}): Family => ({
  name: `turnpike_${name}`,
  type: 'gauge',
  help,
  labels: [],
  ...more,
})

/** Counted and measured where things happen. */
export const countedFamilies = {
  calls: counter('calls', 'Calls of models that were answered, by how they ended.', [...CALL, 'outcome']),
  refusals: {
    ...counter('refusals', 'Requests that were refused, by the code of the error.', ['code', ...CALL]),
    seriesMax: 300,
  },
  requests: {
    ...counter('requests', 'Requests that ended, calls of models or not, by address and status.', [
      'endpoint',
      'status',
    ]),
    seriesMax: 150,
  },
  turnedAway: counter('turned_away', 'Calls that an overloaded process turned away at the door.'),
  tokens: counter('tokens', 'Tokens that were charged; no token is in two classes.', [...CALL, 'class']),
  units: counter('units', 'What was charged and is not counted in tokens.', [...CALL, 'class']),
  charge: { ...counter('charge_usd', 'What was charged, in USD.', CALL), money: true },
  tagCalls: {
    ...counter('tag_calls', 'Charged calls, by the tags that METRICS_TAGS names.', ['tag', 'value']),
    seriesMax: 200,
  },
  tagCharge: {
    ...counter('tag_charge_usd', 'What was charged, in USD, by the tags that METRICS_TAGS names.', [
      'tag',
      'value',
    ]),
    money: true,
    seriesMax: 200,
  },
  keyInput: {
    ...counter(
      'vendor_key_input_tokens',
      'Input tokens of answers, by the key of the house that got them, by its place in the list, and whether they came from its cache.',
      ['vendor', 'key', 'cached'],
    ),
    seriesMax: 200,
  },
  cacheSaved: {
    ...counter(
      'cache_saved_usd',
      "What calls cost less by their vendor's cache, in USD; less `cache_added_usd` it is what caches saved.",
      KEY,
    ),
    money: true,
    seriesMax: 200,
  },
  cacheAdded: {
    ...counter(
      'cache_added_usd',
      'What calls cost more, because writing to the cache cost more than reading from it saved, in USD.',
      KEY,
    ),
    money: true,
    seriesMax: 200,
  },
  duration: histogram('call_duration_seconds', 'From a call to the end of its answer.', {
    bounds: TIMES,
    labels: ['vendor', 'endpoint'],
  }),
  firstToken: histogram('first_token_seconds', 'From a streamed call to the first token for its caller.', {
    bounds: FIRST,
    labels: ['vendor'],
  }),
  tokenPace: histogram(
    'time_per_output_token_seconds',
    'Time between two tokens of a stream, a mean for each stream.',
    { bounds: PACE, labels: ['vendor'] },
  ),
  added: histogram(
    'added_latency_seconds',
    'What Turnpike added to an answer that ended well: all of its time but that in which a vendor was asked.',
    { bounds: SHORT, labels: ['endpoint'] },
  ),
  addedFirst: histogram(
    'added_first_token_seconds',
    'The same up to the first token of a stream: before its vendor was asked, and after that began to answer.',
    { bounds: SHORT, labels: ['endpoint'] },
  ),
  attempts: counter('vendor_attempts', 'Requests to vendors, by what came of them.', ['vendor', 'outcome']),
  attemptTime: histogram(
    'vendor_attempt_seconds',
    'From a request to a vendor to its whole answer, the first event of its stream, or its failure.',
    { bounds: TIMES, labels: ['vendor'] },
  ),
  webhooks: counter(
    'webhooks',
    'Webhooks that were sent to callers, by what they tell of and what came of them.',
    ['kind', 'outcome'],
  ),
  stripeEvents: counter(
    'stripe_events',
    "Events that came to the address of Stripe's webhook, by what came of them.",
    ['outcome'],
  ),
  agentTelemetry: counter('agent_telemetry', 'Requests with telemetry that signed-in agents sent.', [
    'signal',
  ]),
  gate: histogram(
    'gate_wait_seconds',
    'How long answers waited for the ledger: for the intent before the first byte, for the charge before the last.',
    { bounds: SHORT, labels: ['gate'] },
  ),
  batch: histogram('commit_batch_size', 'Operations that went to the ledger in one commit.', {
    bounds: SIZES,
  }),
  commit: histogram('commit_seconds', 'How long a commit to the ledger took.', { bounds: SHORT }),
  outages: counter('ledger_outages', 'How often the ledger did not answer until new calls were refused.'),
  putBack: counter(
    'ledger_put_back',
    'Charges, changes of keys and acts of people that the ledger had acknowledged, lost in a failover, and got back.',
  ),
  commitFailures: counter('commit_failures', 'Commits that failed and were sent again.'),
  loop: histogram('event_loop_delay_seconds', 'How late a timer of 100 ms was.', { bounds: LOOP }),
  collections: counter('gc_runs', 'Garbage collections that the process asked for.'),
  collectionTime: counter('gc_seconds', 'Time that these took.'),
  cut: counter(
    'metrics_cut',
    "How often a new series found no place, because the process had all it may have, and was counted under 'other'.",
  ),
} as const satisfies Readonly<Record<string, Family>>

/** Read on request. */
const readFamilies = {
  info: gauge('build_info', 'Which version this is, with which storage engine.', {
    labels: ['version', 'engine'],
    together: 'most',
  }),
  processes: gauge('processes', 'Processes that are in this answer.'),
  series: gauge('metrics_series', 'Series that a process has; it may have 2,000.', { together: 'most' }),
  inTouch: gauge('in_touch', '1 while the process can prove that it knows all changes of keys.', {
    together: 'least',
  }),
  beatAge: gauge('heartbeat_age_seconds', 'Since the last heartbeat that the ledger answered.', {
    together: 'most',
  }),
  draining: gauge('draining', 'Processes that are shutting down.'),
  instances: gauge('instances', 'Processes that share the ledger, as it was told last.', {
    together: 'most',
  }),
  openCalls: gauge('open_calls', 'Calls of models that are open.'),
  openStreams: gauge('open_streams', 'Streamed answers that are under way.'),
  openSockets: gauge('open_sockets', 'WebSockets that are open.'),
  holds: gauge('open_holds', 'Calls and jobs whose money is held.'),
  bytes: gauge(
    'bytes_in_hand',
    'Bytes of bodies, answers and recordings that are kept; BUFFER_BYTES_MAX bounds them.',
  ),
  queued: gauge('queued_operations', 'Operations that wait for the ledger.'),
  queueAge: gauge('queue_age_seconds', 'How long the oldest of them has waited.', { together: 'most' }),
  leases: gauge('leases', 'Leases that the process has of the ledger.'),
  leased: gauge(
    'leased_usd',
    'Money of them that is not charged yet, in USD; jobs have leases of their own.',
    { money: true },
  ),
  held: gauge('held_usd', 'What open calls hold of them, and jobs on leases of their own, in USD.', {
    money: true,
  }),
  journal: gauge('journal_settlements', 'Charges that wait in the journal for the ledger.'),
  standbyOk: gauge('standby_ok', '0 while the standby that SYNC requires is missing.', { together: 'least' }),
  replicaOk: gauge('replica_ok', '0 while the ledger answers in place of its replica.', {
    together: 'least',
  }),
  replicaLag: gauge('replica_lag_seconds', 'How far the replica is behind the ledger.', { together: 'most' }),
  booksOk: gauge('books_ok', '0 while a law of the books does not hold.', { together: 'least' }),
  vendorKeys: gauge('vendor_keys', 'Keys of the house at a vendor.', {
    labels: ['vendor'],
    together: 'most',
  }),
  restingKeys: gauge('vendor_keys_resting', 'Those that rest, with one model or all.', {
    labels: ['vendor'],
    together: 'most',
  }),
  keyRest: gauge(
    'vendor_key_rest_seconds',
    'How long a key of the house goes on to rest, by its place in the list.',
    {
      labels: ['vendor', 'key'],
      together: 'most',
    },
  ),
  exportLag: gauge('export_lag_seconds', 'Age of the oldest call or event that is not exported yet.', {
    together: 'most',
  }),
  exportFailures: gauge('export_failures', 'Attempts to export that failed since the last that went well.', {
    together: 'most',
  }),
  trialsToday: gauge('trial_granted_today_usd', 'What anonymous trials got in this UTC day, in USD.', {
    money: true,
    together: 'most',
  }),
  trialsDaily: gauge('trial_daily_usd', 'The most that they may get in a day (TRIAL_DAILY_USD).', {
    money: true,
    together: 'most',
  }),
  backedUp: gauge(
    'backup_timestamp_seconds',
    'When the last backup that is noted in the ledger was made, in seconds since 1970; 0 if none is.',
    { together: 'most' },
  ),
  diskFree: gauge('disk_free_bytes', 'What is free on the disk of the ledger, of the journal or of assets.', {
    labels: ['of'],
    together: 'least',
  }),
  diskSize: gauge('disk_size_bytes', 'The size of that disk.', { labels: ['of'], together: 'least' }),
  configOk: gauge(
    'config_ok',
    '0 while the newest configuration cannot be used and the one before it serves.',
    {
      together: 'least',
    },
  ),
  configApplied: gauge(
    'config_applied_timestamp_seconds',
    'When the configuration that is sold was read, in seconds since 1970; of several processes the oldest.',
    { together: 'least' },
  ),
  configReloads: counter('config_reloads', 'How often it was read again, with success.'),
  configRestart: gauge(
    'config_needs_restart',
    '1 while something was changed that is only read at a start.',
    {
      together: 'most',
    },
  ),
  memory: gauge('resident_memory_bytes', 'Memory of the process.'),
  heap: gauge('heap_bytes', 'Memory of its JavaScript heap.'),
  cpu: { ...counter('cpu_seconds', 'Processor time of the process, of the system and its own.') },
  started: gauge('start_time_seconds', 'When the process started, in seconds since 1970.', {
    together: 'least',
  }),
} as const satisfies Readonly<Record<string, Family>>

export const families: Readonly<Record<FamilyId, Family>> = { ...countedFamilies, ...readFamilies }

export type CountedId = keyof typeof countedFamilies
export type FamilyId = CountedId | keyof typeof readFamilies

/** The names of a family's samples. */
export const sampleNames = ({ name, type }: Family): readonly string[] =>
  type === 'counter'
    ? [`${name}_total`]
    : type === 'histogram'
      ? [`${name}_bucket`, `${name}_sum`, `${name}_count`]
      : [name]

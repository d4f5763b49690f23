/** Settings that a running server reads while it answers, as `gateway.options`; a new one needs only a row here. */
import { batchSettings } from './batches.ts'
import { cellSettings } from './cells.ts'
import { amount, amountAboveZero, block, duration, integer, integerOr, list, matching } from './form.ts'
import { ownKeySettings } from './own-keys.ts'
import type { SettingGroup, ValuesOf } from './setting.ts'

const seconds = duration('seconds', 1, 99_999)
const days = duration('days', 1, 9_999)
const perMinute = integer(1, 999_999_999)

const rates = {
  creditNano: {
    name: 'CREDIT_USD',
    is: amountAboveZero(),
    fallback: '0.01',
    meaning: 'The worth of one credit, for displaying amounts.',
  },
  planRpm: {
    name: 'PLAN_RPM',
    is: perMinute,
    fallback: '60',
    meaning: 'Requests per minute of a key without an rpm_limit.',
  },
  guestRpm: {
    name: 'GUEST_RPM',
    is: perMinute,
    fallback: '60',
    meaning:
      'Requests per minute that one network address (IPv6: /64) may make at a process without paying: quotes of x402, payments that buy nothing, lists of models, lists and searches of tools, the API reference for programs, the log of receipts, trials, claims of change, each counted separately.',
  },
  reportRpm: {
    name: 'REPORT_RPM',
    is: perMinute,
    fallback: '60',
    meaning:
      'Reports (`GET /v1/usage`) per minute that one key may request from a process; each reads many rows.',
  },
  ownKeyRpm: {
    name: 'OWN_KEY_RPM',
    is: perMinute,
    fallback: '30',
    meaning:
      'How many keys of vendors an organisation may add or try per minute at a process; each is asked for at its vendor.',
  },
} as const satisfies SettingGroup

const bounds = {
  bodyBytesMax: {
    name: 'BODY_BYTES_MAX',
    is: integer(1_000, 999_999_999),
    fallback: '20971520',
    meaning: 'Largest request body.',
  },
  openCallsMax: {
    name: 'OPEN_CALLS_MAX',
    is: integer(1, 9_999_999),
    fallback: '5000',
    meaning: 'How many calls a process has open at once; more are refused with 503.',
  },
  overloadMs: {
    name: 'OVERLOAD_MS',
    is: integer(0, 99_999, 'milliseconds'),
    fallback: '25',
    meaning:
      'How many milliseconds one turn of a process through all its ready work may take. When turns have taken longer for a second, the process limits itself to the calls that it can do in that time, and refuses others with 503 before doing any work for them; 0 refuses none.',
  },
  discountOpenMax: {
    name: 'DISCOUNT_OPEN_MAX',
    is: integer(1, 9_999_999),
    fallback: '256',
    meaning:
      'Discounted calls (models with a trailing l) only start while fewer calls than this are open in a process; they wait up to 10 s for that.',
  },
  bufferBytesMax: {
    name: 'BUFFER_BYTES_MAX',
    is: integer(1_000_000, 999_999_999_999),
    fallback: '536870912',
    meaning:
      'Memory, in bytes, that a process uses at once for request bodies and whole answers (with what is parsed from them) and, twice, for recordings of streams under an `Idempotency-Key`, which become text when they are stored. A request that does not fit is refused with 503, without reading the rest of it.',
  },
  runsOpenMax: {
    name: 'RUNS_OPEN_MAX',
    is: integer(1, 999_999),
    fallback: '20',
    meaning: 'Jobs that one key may have open at once; further ones are refused with 429.',
  },
  socketsMax: {
    name: 'SOCKETS_MAX',
    is: integer(1, 999_999),
    fallback: '500',
    meaning: 'WebSockets that a process has open at once; further ones are refused with 503.',
  },
  socketBytesMax: {
    name: 'SOCKET_BYTES_MAX',
    is: integer(1_000, 999_999_999),
    fallback: '1048576',
    meaning:
      'Longest message of a WebSocket; a longer one closes it with 1009. The runtime holds incomplete messages, which are not counted in BUFFER_BYTES_MAX: they take at most SOCKETS_MAX times this size.',
  },
  vendorSockets: {
    name: 'VENDOR_SOCKETS',
    is: integerOr('off', 1, 999_999),
    fallback: 'off',
    meaning:
      'How many WebSockets to vendors a process keeps open at once, for turns of WebSocket `/v1/responses` at vendors that have one too (OpenAI, Azure OpenAI): the vendor then hears only what is new. `off` asks every vendor over HTTP.',
  },
  keptBytesMax: {
    name: 'KEPT_BYTES_MAX',
    is: integer(1_000, 999_999_999_999_999),
    fallback: '1073741824',
    meaning:
      'Bytes of answers that a process keeps for repeats (`Idempotency-Key`) of one key in a day; further new calls with that header are refused with 429.',
  },
  keptWalletBytesMax: {
    name: 'KEPT_WALLET_BYTES_MAX',
    is: integer(1_000, 999_999_999_999_999),
    fallback: '4294967296',
    meaning: 'The same for all keys of one wallet together.',
  },
  keySharePercent: {
    name: 'KEY_SHARE_PERCENT',
    is: integer(1, 100),
    fallback: '50',
    meaning:
      'How much of OPEN_CALLS_MAX, BUFFER_BYTES_MAX and SOCKETS_MAX one key may use at a process, and all callers without a key together; more is refused with 429. Use 100 if one key serves everybody.',
  },
  vendorSharePercent: {
    name: 'VENDOR_SHARE_PERCENT',
    is: integer(1, 100),
    fallback: '75',
    meaning:
      'How much of OPEN_CALLS_MAX, and of the share of one key, may wait for one vendor if there are several, so that a silent vendor leaves the rest to the others. Further calls go to an equal model at another vendor, or are refused with 503 (429 if only the share of the key is used up).',
  },
  keepDetails: {
    name: 'KEEP_DETAILS',
    is: integerOr('off', 1, 9_999, 'months'),
    fallback: '13',
    meaning:
      'For how many whole months before the present one details of calls are kept: model, tokens, prices, and so also receipts on request. Older details and other old rows are deleted; postings stay (growth.md). `off` keeps everything.',
  },
  keepFailuresDays: {
    name: 'KEEP_FAILURES',
    is: integer(0, 9_999, 'days'),
    fallback: '30',
    meaning:
      'For how many days refused and failed calls of known keys are kept, one row a call, never with content; 0 notes none.',
  },
  failuresPerDay: {
    name: 'FAILURES_PER_DAY',
    is: integer(0, 999_999),
    fallback: '200',
    meaning:
      'How many refused and failed calls of one key are kept for each UTC day and error code; further ones are only counted.',
  },
  trustedProxies: {
    name: 'TRUSTED_PROXIES',
    is: list(
      block(),
      'addresses or blocks such as 10.0.0.0/8, separated by commas; not 0.0.0.0/0, ::/0 or IPv4-mapped blocks',
    ),
    fallback: '',
    meaning:
      "Addresses or blocks, separated by commas, of proxies in front of this server; only their X-Forwarded-For tells a caller's address.",
  },
} as const satisfies SettingGroup

const times = {
  bodyMs: {
    name: 'BODY_SECONDS',
    is: seconds,
    fallback: '120',
    meaning: 'How long a request body may take to arrive; then it is refused with 408.',
  },
  readerMs: {
    name: 'READER_SECONDS',
    is: seconds,
    fallback: '60',
    meaning:
      'How long the reader of a stream may take nothing while something waits for it; then it counts as gone, and is charged for what it was sent.',
  },
  ledgerPatienceMs: {
    name: 'LEDGER_PATIENCE_SECONDS',
    is: duration('seconds', 6, 600),
    fallback: '30',
    meaning:
      'How long a stream that has used up what it holds waits for a ledger that is away, as in a failover of the database. It is kept alive meanwhile, and then ends with an error that says why.',
  },
  connectionSeconds: {
    name: 'CONNECTION_SECONDS',
    is: integer(1, 255, 'seconds'),
    fallback: '75',
    meaning: 'How long a connection may be idle between two requests, or take nothing of a complete answer.',
  },
  socketIdleSeconds: {
    name: 'SOCKET_IDLE_SECONDS',
    is: integer(8, 960, 'seconds'),
    fallback: '120',
    meaning: 'How long a WebSocket may be silent, without even answering pings; then it is closed.',
  },
  timeouts: {
    firstByteMs: {
      name: 'FIRST_BYTE_SECONDS',
      is: seconds,
      fallback: '120',
      meaning: "How long to wait for a vendor's first byte.",
    },
    idleMs: {
      name: 'IDLE_SECONDS',
      is: seconds,
      fallback: '120',
      meaning: 'How long to wait between two pieces of an answer.',
    },
    totalMs: {
      name: 'TOTAL_SECONDS',
      is: seconds,
      fallback: '900',
      meaning: 'The longest a call may take; orphans of a crash are closed after it.',
    },
  },
  runWaitMs: {
    name: 'RUN_WAIT_SECONDS',
    is: duration('seconds', 0, 99_999),
    fallback: '55',
    meaning:
      'How long `POST /v1/run` waits for a job before it answers 202; keep it below the time that proxies wait. `Prefer` of the request takes precedence.',
  },
  runKeptMs: {
    name: 'RUN_DAYS',
    is: days,
    fallback: '7',
    meaning: 'How long a job can be read after it has ended.',
  },
  responsesKeptMs: {
    name: 'RESPONSES_STORE',
    is: duration('hours', 0, 99_999),
    fallback: '24',
    meaning:
      'Hours that responses are kept after their last use, for callers of responses who do not decline (`store: false`); 0 keeps none. Clients refer to them in later turns.',
  },
} as const satisfies SettingGroup

const community = {
  signUpUrl: {
    name: 'SIGN_UP_URL',
    is: matching(/^https?:\/\/[^\s@"]+$/, 'an address'),
    meaning: 'Your page where people get a key; named to callers whose trial has ended or is not available.',
  },
  trial: {
    amount: {
      name: 'TRIAL_USD',
      is: amount(),
      fallback: '0.2',
      meaning:
        'The credit of an anonymous trial wallet, at your cost, once per network address; 0 turns trials off.',
    },
    dailyAmount: {
      name: 'TRIAL_DAILY_USD',
      is: amount(),
      fallback: '2',
      meaning:
        'The credit of all anonymous trials of a UTC day together: the most they can cost you per day.',
    },
    lifeMs: {
      name: 'TRIAL_DAYS',
      is: days,
      fallback: '7',
      meaning: 'How long an anonymous trial lasts.',
    },
    againMs: {
      name: 'TRIAL_AGAIN_DAYS',
      is: days,
      fallback: '30',
      meaning: 'How long a network address must wait for another trial; at least as long as a trial lasts.',
    },
  },
  referral: {
    referrerAmount: {
      name: 'REFERRER_USD',
      is: amount(),
      fallback: '1',
      meaning: 'The credit of an account when another one claims its referral code.',
    },
    claimantAmount: {
      name: 'REFERRED_USD',
      is: amount(),
      fallback: '1',
      meaning: 'The credit of the account that claims a referral code.',
    },
  },
} as const satisfies SettingGroup

export const callSettings = {
  ...{ ...rates, ...bounds, ...times, ...batchSettings, ...community },
  ownKeys: ownKeySettings,
  cell: cellSettings,
}

export type CallSettings = ValuesOf<typeof callSettings>

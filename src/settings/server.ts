/** Settings of a process: where it listens, where its ledger and files are, what it logs. */
import {
  amount,
  block,
  duration,
  integer,
  integerOr,
  list,
  listOfSome,
  matching,
  oneOf,
  onOff,
  pathOrOff,
  secret,
  unshown,
} from './form.ts'
import type { SettingGroup } from './setting.ts'

export const serverSettings = {
  host: {
    name: 'HOST',
    is: matching(/^[^\s[\]]+$/, 'an address such as 127.0.0.1, 0.0.0.0 or ::1'),
    fallback: '127.0.0.1',
    meaning: 'Address to listen on.',
  },
  port: {
    name: 'PORT',
    is: integer(0, 65_535),
    fallback: '8787',
    meaning: 'Port to listen on; 0 picks a free one.',
  },
  tls: {
    cert: {
      name: 'TLS_CERT',
      is: matching(/^.+$/, 'a path'),
      meaning:
        'File with the certificate of the server and those above it, as PEM: it then speaks HTTPS alone. A changed file takes effect within seconds: requests that are open go on, and a connection that is just being opened may have to be opened again.',
    },
    key: {
      name: 'TLS_KEY',
      is: matching(/^.+$/, 'a path'),
      meaning: 'File with the key of that certificate, as PEM, without a password.',
    },
    clientCa: {
      name: 'TLS_CLIENT_CA',
      is: matching(/^.+$/, 'a path'),
      meaning:
        'File with a certificate as PEM: only callers whose own certificate it has signed can connect. That includes probes, and `turnpike ready`.',
    },
  },
  listenAddresses: {
    name: 'LISTEN_ADDRESSES',
    is: list(block(), 'addresses or blocks such as 10.0.0.0/8, separated by commas'),
    fallback: '',
    meaning:
      'Addresses or blocks, separated by commas, from which connections are taken, whatever key they bring; empty takes all. It is the other end of the connection that counts, so a proxy in front of the server is what to name.',
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    is: unshown(/^(sqlite:.+|postgres(ql)?:\/\/.+)$/, 'sqlite:<path> or postgres://…'),
    fallback: 'sqlite:./data/turnpike.db',
    meaning:
      'The address of the ledger. That of PostgreSQL may name several hosts, and takes parameters for TLS and time-outs: postgres.md.',
  },
  replicaUrl: {
    name: 'DATABASE_REPLICA_URL',
    is: unshown(/^postgres(ql)?:\/\/.+$/, 'postgres://…'),
    meaning:
      'The address of a standby of the ledger that answers reads: the console, use and lists of calls are read there while it follows closely, so that long reports leave the ledger to calls. Money, keys and invoices are never read there: postgres.md.',
  },
  replicaLagMs: {
    name: 'REPLICA_LAG_SECONDS',
    is: duration('seconds', 2, 3_600),
    fallback: '10',
    meaning:
      'How old what is read of DATABASE_REPLICA_URL may be. When it lags more, or does not answer, the ledger itself is read; log, status and metrics say so.',
  },
  sync: {
    name: 'SYNC',
    is: oneOf('any', 'require'),
    fallback: 'any',
    meaning:
      'With `require` a PostgreSQL without a synchronous standby is refused at the start; that it is lost later is told in the log, the status and the metrics. With `any` an acknowledged charge may be lost with the primary, and each process puts back what it remembers: postgres.md.',
  },
  vendorKeys: {
    name: 'VENDOR_KEYS',
    is: pathOrOff(),
    fallback: './data/vendor-keys',
    meaning:
      'Folder of the keys of vendors that operators add while the server runs, which its owner alone can read; processes on several machines need one that they share. Backups leave it out. With `off` keys are only those of the environment, of files and of turnpike.yaml.',
  },
  journal: {
    name: 'JOURNAL',
    is: pathOrOff(),
    fallback: './data/journal',
    meaning:
      'Folder for charges while the ledger cannot be reached or written, on a disk that outlives the process; with SQLite it is beside the ledger unless it is set, preferably to a folder on another disk. With `off` a call whose charge is not answered within two seconds ends with 503 and may have been charged.',
  },
  workers: {
    name: 'WORKERS',
    is: integer(1, 999),
    fallback: '1',
    meaning: 'Processes that share the port; more than one needs PostgreSQL. The same as --workers.',
  },
  memoryMax: {
    name: 'MEMORY_MAX',
    is: integerOr('auto', 64_000_000, 999_999_999_999_999),
    fallback: 'auto',
    meaning:
      'Memory, in bytes, that all processes of this server may use together; with `auto` that of the machine, or the limit of its container or unit (cgroup). Where it is small, the defaults of BUFFER_BYTES_MAX, BODY_BYTES_MAX, OPEN_CALLS_MAX and SOCKETS_MAX become smaller; operations.md says how.',
  },
  configFile: {
    name: 'TURNPIKE_CONFIG',
    is: matching(/^.+$/, 'a path'),
    fallback: './turnpike.yaml',
    meaning: 'The file with vendors, models and prices; the default one may be absent.',
  },
  configWatch: {
    name: 'CONFIG_WATCH',
    is: onOff(),
    fallback: 'on',
    meaning:
      'Whether a changed turnpike.yaml, or a changed file of a secret, takes effect within seconds; with `off` only by SIGHUP and `turnpike config apply`.',
  },
  secret: {
    name: 'TURNPIKE_SECRET',
    is: secret(/^.{16,}$/, 'at least 16 characters'),
    meaning:
      'Secret that hashes the keys; if absent, one is made once and stored in the database. Without TURNPIKE_SECRET_OLD, changing it makes every key unknown.',
  },
  secretOld: {
    name: 'TURNPIKE_SECRET_OLD',
    is: secret(/^(?:.{16,}|database)$/, 'at least 16 characters, or database'),
    meaning:
      'While TURNPIKE_SECRET changes: the previous secret, which still verifies what it made; `database` for the one that the database made. `turnpike secret status` says when it is no longer needed.',
  },
  drainMs: {
    name: 'DRAIN_SECONDS',
    // A timer counts no more than 24 days; with more it ends at once, and what is open would be cut.
    is: duration('seconds', 0, 2_000_000),
    fallback: '120',
    meaning: 'How long open calls may continue after SIGTERM.',
  },
  firstFund: {
    name: 'FIRST_FUND_USD',
    is: amount(),
    fallback: '100',
    meaning: "Test credit in the operator's wallet on the first start.",
  },
  discover: {
    name: 'DISCOVER',
    is: onOff(),
    fallback: 'on',
    meaning:
      'Whether to look for models on localhost (Ollama, llama-server, LM Studio) and offer them free of charge.',
  },
  cacheMarks: {
    name: 'CACHE_MARKS',
    is: onOff(),
    fallback: 'on',
    meaning:
      'Whether long calls that are translated for Anthropic are marked for its cache; dialects.md says which.',
  },
  receipts: {
    mode: {
      name: 'RECEIPTS',
      is: oneOf('header', 'on-demand', 'off'),
      fallback: 'header',
      meaning:
        'Signed receipts: in every answer (`header`), only on request by GET /v1/receipts/{id} (`on-demand`), or not at all (`off`).',
    },
    issuers: {
      name: 'RECEIPT_ISSUER',
      is: listOfSome(
        matching(/^[\x21-\x2b\x2d-\x7e]{1,200}$/, 'a name'),
        'names of at most 200 characters without blanks, separated by commas',
      ),
      fallback: 'turnpike',
      meaning:
        'Who issues receipts, in the claim `iss`: preferably the public address of the server. List its former names after a comma: their receipts stay valid.',
    },
  },
  logLevel: {
    name: 'LOG',
    is: oneOf('call', 'info', 'warn', 'error', 'off'),
    fallback: 'call',
    meaning: 'The lowest level that is logged to standard error: call, info, warn, error or off.',
  },
} as const satisfies SettingGroup

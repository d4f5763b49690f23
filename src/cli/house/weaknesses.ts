/** Settings under which a server works and is weaker than it could be: each with what is weak and what to set. */
import { X509Certificate } from 'node:crypto'
import { DAY_MS, type Instant } from '../../core/time.ts'
import type { Config } from '../config/config.ts'

type Weakness = { readonly setting: string; readonly weak: string; readonly fix: string }

/** What no setting says. */
type Facts = {
  readonly now: Instant
  /** When the ledger was last backed up; undefined if it never was. */
  readonly backedUp: Instant | undefined
  /** The text of the certificate, if there is one. */
  readonly certificate?: string | undefined
}

type Settings = Pick<
  Config,
  'host' | 'tls' | 'publicUrl' | 'gateway' | 'console' | 'secret' | 'secretOld' | 'databaseUrl' | 'sync'
> &
  Pick<Config, 'journal' | 'receipts' | 'watch'>

type Rule = Omit<Weakness, 'weak'> & {
  readonly weak: string
  readonly holds: (it: Settings, facts: Facts) => boolean
}

const LOCAL = /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/
const isPublic = ({ host }: Settings): boolean => !LOCAL.test(host)
const isPostgres = ({ databaseUrl }: Settings): boolean => databaseUrl.startsWith('postgres')

const databaseHosts = ({ databaseUrl }: Settings): readonly string[] =>
  (/^\w+:\/\/(?:[^/?#]*@)?([^/?#]*)/.exec(databaseUrl)?.[1] ?? '')
    .split(',')
    .map((host) => host.replace(/:\d+$/, ''))
    .filter((host) => host !== '')

const BACKUP_MS = 2 * DAY_MS
const CERTIFICATE_MS = 14 * DAY_MS
/** Words of examples, and texts of a few letters. */
const EXAMPLE = /change|example|secret|password|default|turnpike|1234/i
const isGuessable = (text: string): boolean =>
  text.length < 32 || EXAMPLE.test(text) || new Set(text).size < 10

const rules: readonly Rule[] = [
  {
    setting: 'TURNPIKE_SECRET',
    weak: 'the secret is in the database: whoever has a copy of it can sign receipts and links',
    fix: 'set TURNPIKE_SECRET to 32 random letters or more, and TURNPIKE_SECRET_OLD=database until `turnpike secret status` says it is not needed',
    holds: ({ secret }) => secret === undefined,
  },
  {
    setting: 'TURNPIKE_SECRET',
    weak: 'the secret is short, or a word of an example',
    fix: 'take 32 random letters or more (openssl rand -hex 32), with the present one as TURNPIKE_SECRET_OLD',
    holds: ({ secret }) => secret !== undefined && isGuessable(secret.reveal()),
  },
  {
    setting: 'TURNPIKE_SECRET_OLD',
    weak: 'a secret of before still opens what it made',
    fix: 'remove TURNPIKE_SECRET_OLD once `turnpike secret status` says it is not needed',
    holds: ({ secretOld }) => secretOld !== undefined,
  },
  {
    setting: 'TLS_CERT',
    weak: 'keys travel in the clear: HOST takes connections from other machines, and there is no TLS',
    fix: 'set TLS_CERT and TLS_KEY, or put a proxy with TLS in front, name it in TRUSTED_PROXIES, and set PUBLIC_URL=https://…',
    holds: (it) =>
      isPublic(it) &&
      it.tls.cert === undefined &&
      (it.gateway.trustedProxies.length === 0 || it.publicUrl?.startsWith('https://') !== true),
  },
  {
    setting: 'TLS_CERT',
    weak: 'the certificate ends within two weeks, or has ended',
    fix: 'renew the file; a running server takes it within seconds',
    holds: (_it, { certificate, now }) =>
      certificate !== undefined &&
      new X509Certificate(certificate).validToDate.getTime() < now + CERTIFICATE_MS,
  },
  {
    setting: 'PUBLIC_URL',
    weak: 'links in answers and mail name the host that the caller says',
    fix: 'set PUBLIC_URL to the address that callers know',
    holds: (it) => it.publicUrl === undefined && (isPublic(it) || it.console.smtp !== undefined),
  },
  {
    setting: 'SIGN_UP',
    weak: 'anybody can get an account',
    fix: 'set SIGN_UP=invite or SIGN_UP=closed, unless that is what you sell',
    holds: (it) => it.console.on && it.console.signUp === 'open',
  },
  {
    setting: 'OIDC_TRUST_EMAIL',
    weak: 'addresses count that the provider does not call verified',
    fix: 'set OIDC_TRUST_EMAIL=off, unless people cannot choose their address there',
    holds: (it) => it.console.oidcIssuer !== undefined && it.console.oidcTrustEmail,
  },
  {
    setting: 'DATABASE_URL',
    weak: 'the ledger is on another machine, and the connection is not encrypted or does not know whom it reaches',
    fix: 'add sslmode=verify-full to DATABASE_URL (postgres.md)',
    holds: (it) =>
      isPostgres(it) &&
      databaseHosts(it).some((host) => !LOCAL.test(host)) &&
      !/[?&]sslmode=verify-(full|ca)\b/.test(it.databaseUrl),
  },
  {
    setting: 'SYNC',
    weak: 'a charge that was acknowledged may be lost with the primary',
    fix: 'give PostgreSQL a synchronous standby and set SYNC=require (postgres.md)',
    holds: (it) => isPostgres(it) && it.sync === 'any',
  },
  {
    setting: 'JOURNAL',
    weak: 'calls end with 503 while the ledger is away, and may have been charged',
    fix: 'set JOURNAL to a folder on a disk that outlives the process',
    holds: (it) => isPostgres(it) && it.journal === undefined,
  },
  {
    setting: 'RECEIPTS',
    weak: 'calls have no receipts, and neither receipts nor events are in a signed record',
    fix: 'set RECEIPTS=on-demand or RECEIPTS=header',
    holds: ({ receipts }) => receipts.mode === 'off',
  },
  {
    setting: 'METRICS',
    weak: 'whoever reaches the port of the metrics reads them without a token',
    fix: 'set METRICS_ADDRESSES to the machines that read them, or METRICS=token',
    holds: ({ watch: { metrics, metricsAddresses } }) =>
      typeof metrics === 'object' && !LOCAL.test(metrics.host) && metricsAddresses.length === 0,
  },
  {
    setting: 'turnpike backup',
    weak: 'the ledger was not backed up within two days',
    fix: 'run `turnpike backup` every day, or note those of another tool with `turnpike backup --made <place>` (backup.md)',
    holds: (_it, { backedUp, now }) => backedUp === undefined || backedUp < now - BACKUP_MS,
  },
]

/** In the order in which to mend them. */
export const weaknessesOf = (settings: Settings, facts: Facts): readonly Weakness[] =>
  rules
    .filter(({ holds }) => holds(settings, facts))
    .map(({ setting, weak, fix }) => ({ setting, weak, fix }))

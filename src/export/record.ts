/** A call as one line of JSON, for systems that store calls elsewhere. Never content. */
import { decimalFromNano } from '../core/money.ts'
import type { CallRecord } from '../store/exports/export-port.ts'

const instant = (at: number): string => new Date(at).toISOString()

/** The line, with its line end. Amounts are decimal texts of USD; times are in UTC. */
export const lineOf = ({ id, at, keyId, orgId, payer, amount, detail }: CallRecord): string =>
  `${JSON.stringify({
    id,
    charged_at: instant(at),
    organization_id: orgId,
    wallet_id: payer,
    key_id: keyId,
    charged_usd: decimalFromNano(amount),
    ...(detail === undefined
      ? {}
      : {
          model: detail.model,
          vendor: detail.vendor,
          usage: detail.usage,
          estimated: detail.estimated,
          started_at: instant(detail.startedAt),
          took_ms: detail.tookMs,
          first_byte_ms: detail.firstByteMs,
          ended: detail.ended,
          price_version: detail.priceVersion,
        }),
  })}\n`

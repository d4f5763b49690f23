/** Open sockets by the key that opened them. When a key is revoked, its sockets close, and what runs on them ends. */
import type { Gateway } from '../../gateway/parts/gateway.ts'
import { isRevoked, type KeyId } from '../../tenancy/key.ts'

type Closing = { readonly data: { readonly keyId: KeyId }; close(code: number, reason: string): void }

/** RFC 6455, 7.4.1: a message violates a policy of the server. */
const POLICY_VIOLATION = 1008

/** Watches the keys of sockets from `opened` until `closed`. */
export const openSockets = (gateway: Gateway) => {
  const byKey = new Map<KeyId, Set<Closing>>()
  gateway.book.onKeyChanged((key) => {
    if (!isRevoked(key)) return
    for (const socket of byKey.get(key.id) ?? []) socket.close(POLICY_VIOLATION, 'key_disabled')
  })
  return {
    opened: (socket: Closing): void => {
      const { keyId } = socket.data
      const open = byKey.get(keyId) ?? new Set()
      byKey.set(keyId, open.add(socket))
    },
    closed: (socket: Closing): void => {
      const open = byKey.get(socket.data.keyId)
      open?.delete(socket)
      if (open?.size === 0) byKey.delete(socket.data.keyId)
    },
  }
}

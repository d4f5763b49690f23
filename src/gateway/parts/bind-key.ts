/** Binding a key that exists to a sub-wallet, or releasing it: what must hold before the store does it. */
import { type Refusal, refuse } from '../../core/refusal.ts'
import type { Store } from '../../store/port.ts'
import type { Key } from '../../tenancy/key.ts'

type Asked = {
  readonly key: Key
  /** Null releases the key; absent keeps what it has. */
  readonly sub: string | null | undefined
  /** The key above it that asks; absent for the organisation and the operator, who govern every sub-wallet. */
  readonly by?: Key
}

/**
 * Why the key may not be bound so; undefined when it may. Keys below a bound one are bound to the same, so a key under
 * one keeps what that has.
 */
export const checkBinding = async (
  { keys, subWallets }: Pick<Store, 'keys' | 'subWallets'>,
  { key, sub, by }: Asked,
): Promise<Refusal | undefined> => {
  if (sub === undefined) return undefined
  const [parentId] = key.ancestors
  const bound = parentId === undefined ? undefined : (await keys.key(parentId))?.subWallet
  if (bound !== undefined && bound !== sub)
    return refuse(
      'forbidden',
      `The key above this one is bound to the sub-wallet '${bound}', and so are all keys below it; bind or release that one.`,
      { members: { param: 'sub_wallet' } },
    )
  if (sub === null || sub === bound) return undefined
  const { walletId } = key
  const found =
    by === undefined
      ? await subWallets.subWallet({ walletId }, sub)
      : ((await subWallets.serving(key, sub)) ?? (await subWallets.serving(by, sub)))
  return found === undefined
    ? refuse('not_found', 'There is no such sub-wallet, or it does not serve the key.', {
        members: { param: 'sub_wallet' },
      })
    : undefined
}

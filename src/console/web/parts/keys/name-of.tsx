/** What the key or tenant of a filter is called; its id until that is known, or if it is not for this person. */
import { useShown } from '../api.ts'

type Of = { readonly id: string }

const Name = ({ id, label = '' }: Of & { label?: string | undefined }) =>
  label === '' ? <span className="mono">{id}</span> : <b title={id}>{label}</b>

const KeyName = ({ id }: Of) => <Name id={id} label={useShown('GET /keys/:key', { key: id }).data?.label} />

const TenantName = ({ id }: Of) => (
  <Name id={id} label={useShown('GET /tenants/:tenant', { tenant: id }).data?.label} />
)

/** Of something else, such as a vendor, its id is its name. */
export const NameOf = ({ what, id }: Of & { what: string }) => {
  const Named = what === 'key' ? KeyName : what === 'tenant' ? TenantName : Name
  return <Named id={id} />
}

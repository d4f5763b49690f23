/** The page of conditions: what may be asked of where calls go, and what is known of each vendor, with its source. */
import { regionNames } from '../src/tenancy/conditions.ts'
import { type Said, vendorHandling } from '../src/vendors/known-handling.ts'
import type { Vendor } from '../src/vendors/vendor.ts'

const HOW = `A call, a key or the rules of a wallet can ask where calls may go. All that are asked hold together, and none can be
taken back further down: a key adds to the rules, and a call to its key.

| condition | what it asks of the vendor |
| --- | --- |
| \`zdr\` | it keeps nothing of the call (zero data retention); and neither does this server |
| \`no_training\` | it trains no model on the call |
| \`region=…\` | it processes the call there: ${regionNames.map((name) => `\`${name}\``).join(', ')}; \`de\`, \`fr\` and \`ie\` are in \`eu\` |

- **A call** says it in \`X-Turnpike-Require: zdr,region=eu\`; on a socket as \`require\`, in a tool as \`turnpike/require\`. An unknown
  word is a 400 that names it. **A key** has the limit \`requires\`, which binds the keys below it; it may add to what its creator set,
  and take nothing of that away. **A wallet** has the rule \`requires\`.
- **A call that nothing meets** is a 403 \`conditions_not_met\` before a byte leaves; \`satisfied_by\` names models that do. If the model
  has equals (\`failover\`), only those places are asked that meet the conditions. Rules that change while a call waits bind it.
- **The answer** of such a call has \`X-Turnpike-Conditions\`, and its receipt the claim \`conditions\`: what was asked, the vendor, its
  region, and whether a fact is documented, with the day on which that was read, or stated by the operator.
- **Tools that the vendor runs**, such as its search, are refused under any condition: they ask other places, of which nothing is known.
  **Batches** are run here and not in the vendor's own, of which nothing is known either.
- **\`GET /v1/models\`** lists what the key's conditions allow; \`?require=zdr\` asks for more. Each model has its \`handling\`.
  Where an organisation has keys of its own, lists and calls go by the documents alone: what the operator states is of its own account.

## What zdr binds here

Nothing of the call is stored on this server. What would be stored by default is not: a response is answered with \`store\` false. What
the caller asks to be stored is refused by name: \`store: true\`, \`background\`, \`conversation\`, files, conversations, batches, jobs, and
products whose results are files (images, films, speech). Under an \`Idempotency-Key\` the call runs and is charged once; copies that
arrive while it runs get its answer, which is in memory, and later ones a 410 \`answer_not_kept\`; so it is with a call that brings its payment. A socket remembers its turns, in memory,
until it closes. Counts, prices and hashes are kept as for every call.

## What the operator states

A vendor's documents say what holds for every account. What holds for yours, such as an agreement or the region of a deployment, stands
in \`turnpike.yaml\`, and counts in place of the documents; \`false\` takes a fact back:

\`\`\`yaml
vendors:
  openai:
    handling: { zdr: true }
  azure:
    handling: { region: eu }
  my-vllm:
    handling: { zdr: true, no_training: true, region: de }
\`\`\`

The documents count only at the vendor's own hosts: whoever stands at another address (\`<ID>_BASE_URL\`) has not said it. Conditions bind
once every process is of a version that knows them, so set the first ones after an update is complete.

## What is known

\`yes\`: by default. \`on request\`: for accounts that arranged it, so it is to be stated. What is missing is not known and meets nothing, nor
does what is marked as unverified until it is stated. The sources were read as stored excerpts of their pages on the day that is named: open
the page before you rely on a row.`

const words = { yes: 'yes', on_request: 'on request', no: 'no' } as const

const cell = <T>(said: Said<T> | undefined, text: (says: T) => string): string =>
  said === undefined
    ? ''
    : `${text(said.says)}${said.verified === false ? ' (unverified)' : ''}${said.note === undefined ? '' : `, ${said.note}`}`

export const conditionsPage = (
  vendors: readonly Pick<Vendor, 'id'>[],
  rowsOf: (heads: readonly string[], rows: readonly (readonly string[])[]) => string,
): string => {
  const rows = vendors.flatMap(({ id }) => {
    const facts = vendorHandling[id]
    if (facts === undefined) return []
    const all = Object.values(facts)
    return [
      [
        `\`${id}\``,
        cell(facts.zdr, (says) => words[says]),
        cell(facts.noTraining, (says) => words[says]),
        cell(facts.hosts, (says) =>
          Object.entries(says)
            .map(([host, region]) => `${host}: \`${region}\``)
            .join(', '),
        ),
        [...new Set(all.map(({ source }) => source))].join(' '),
        [...new Set(all.map(({ read }) => read))].join(', '),
      ],
    ]
  })
  const unknown = vendors.filter(({ id }) => vendorHandling[id] === undefined).map(({ id }) => `\`${id}\``)
  return `${HOW}\n\n${rowsOf(['vendor', 'zdr', 'no_training', 'region', 'sources', 'read'], rows)}\n\nNothing is known of ${unknown.join(', ')}, and of vendors at addresses of your own.`
}

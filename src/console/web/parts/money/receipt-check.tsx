/** Checks a pasted receipt with the server: whether it is ours, and what it states. */
import { Table, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { act } from '../api.ts'
import { Form } from '../forms/form.tsx'
import { State } from '../state.tsx'
import { TableBox } from '../table-box.tsx'
import { Panel } from '../ui.tsx'

const errors: Readonly<Record<string, string>> = {
  malformed_jwt: 'This is not a receipt. It begins with “ey” and has two dots in it.',
  signature_mismatch: 'Not valid: this server did not sign it, or somebody changed it.',
  expired: 'It was valid, but is older than 90 days and of no use for disputes.',
}

const textOf = (name: string, value: unknown): string => {
  if ((name === 'iat' || name === 'exp') && typeof value === 'number')
    return new Date(value * 1_000).toISOString().replace('T', ' ').replace('.000Z', ' UTC')
  return typeof value === 'string' || typeof value === 'number' ? String(value) : JSON.stringify(value)
}

export const Claims = ({ claims }: { claims: Readonly<Record<string, unknown>> }) => (
  <TableBox>
    <Table verticalSpacing={4} aria-label="What the receipt states">
      <Table.Tbody>
        {Object.entries(claims).map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th scope="row">{name}</Table.Th>
            <Table.Td className="mono">{textOf(name, value)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  </TableBox>
)

export const ReceiptCheck = () => {
  const [text, setText] = useState('')
  const check = useMutation({
    mutationFn: () => act('POST /receipts/check', { receipt: text.trim() }),
  })
  return (
    <Panel title="Check a receipt">
      <Form
        save={check}
        verb="Check"
        ready={text.trim() !== ''}
        hint="Paste a receipt first."
        place="page"
        variant="default"
        done={check.data?.valid ? <State of="valid" /> : errors[check.data?.error ?? '']}
      >
        <Textarea
          label="Receipt"
          description="The X-Receipt of an answer, or what GET /v1/receipts gave."
          autosize
          minRows={2}
          maxRows={6}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
      </Form>
      {check.data?.claims !== undefined && <Claims claims={check.data.claims} />}
    </Panel>
  )
}

/** `turnpike bill …`: what a reseller bills its tenants, by whom, and the files of that. */
import { readFile, writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { z } from 'zod'
import type { Act, Shape } from '../../control/act.ts'
import { billCredit, billGet, billList, billPaid, type billShown } from '../../control/bills/bills.ts'
import { billClose } from '../../control/bills/close.ts'
import { billExport, billMail, billPdf, type fileShown } from '../../control/bills/files.ts'
import { billerGet, billerPut, tenantBillingPut } from '../../control/bills/parties.ts'
import { isObject, type JsonObject, parseJson, present } from '../../core/json-body.ts'
import { controlOf, everyPage, forPrograms, performAs } from '../run/control.ts'
import { type Database, Failed, print, tableOf, withDatabase } from '../run/run-command.ts'

type Options = JsonObject & { readonly json?: boolean; readonly out?: string; readonly file?: string }
type Bill = z.output<typeof billShown>

const fromFile = async (path: string): Promise<JsonObject> => {
  const text = await readFile(path, 'utf8').catch(() => {
    throw new Failed(`${path} cannot be read`)
  })
  const read = parseJson(text)
  if (!isObject(read)) throw new Failed(`${path} is no JSON object`)
  return read
}

/** Options are members of the acts, by the same names, and a file has more of them. */
const inputOf = async ({ json: _json, out: _out, file, org, on, ...rest }: Options): Promise<JsonObject> => ({
  ...(file === undefined ? {} : await fromFile(file)),
  ...rest,
  ...present({ organisation: org, paid_on: on }),
})

const rowOf = ({ id, number, status, month, label, total, currency, due_at: due }: Bill) => ({
  id,
  number,
  status,
  month,
  label,
  total: `${total} ${currency}`,
  due: due.slice(0, 10),
})
const tell = (bill: Bill, { json }: Options) => print(json, forPrograms(bill), tableOf([rowOf(bill)]))
const tellAll = (shown: unknown) => print(true, shown, '')
const save = async (file: z.output<typeof fileShown>, { out = file.name, json }: Options): Promise<void> => {
  await writeFile(out, Buffer.from(file.base64, 'base64'))
  print(json, { file: out }, `${out}\n`)
}
const tellClosed = ({ data }: Awaited<ReturnType<typeof billClose.does>>, { json }: Options) => {
  const rows = data.map(({ label, outcome, bill }) => ({
    label,
    outcome,
    number: bill?.number ?? null,
    total: bill === null ? null : `${bill.total} ${bill.currency}`,
  }))
  print(json, data.map(forPrograms), tableOf(rows))
}

type Doing = (database: Database, subject: string, options: Options) => Promise<void>

/** Performs the act on what the argument names, with the settings of mail, and tells what it shows. */
const doing =
  <Members extends Shape, Shown>(
    act: Act<Members, Shown>,
    member: string,
    telling: (shown: Shown, options: Options) => void | Promise<void>,
    more: JsonObject = {},
  ): Doing =>
  async (database, subject, options) => {
    const control = { ...(await controlOf(database)), console: database.config.console }
    const input = { ...(await inputOf(options)), ...more, ...(member === '' ? {} : { [member]: subject }) }
    await telling(await performAs(act.name.replace('.', ' '), control, act, input), options)
  }

const list: Doing = async (database, _none, options) => {
  const input = await inputOf(options)
  const data = await everyPage<Bill>((last) =>
    performAs('bill list', database, billList, { ...input, limit: 500, ...(last && { after: last.id }) }),
  )
  print(options.json, data.map(forPrograms), tableOf(data.map(rowOf)))
}

const profile: Doing = (database, none, options) =>
  (options.file === undefined
    ? doing(billerGet, '', ({ profile: shown }) => tellAll(shown))
    : doing(billerPut, '', tellAll))(database, none, options)

const commands: readonly (readonly [name: string, about: string, options: string, does: Doing])[] = [
  ['profile', 'show who bills, or set it from a JSON file', 'file', profile],
  ['tenant <tenant>', 'set to whom invoices are written', 'file', doing(tenantBillingPut, 'tenant', tellAll)],
  ['close <month>', 'write the invoices of a month', 'tenant', doing(billClose, 'month', tellClosed)],
  ['list', 'invoices and credit notes, newest first', 'tenant month status', list],
  ['show <bill>', 'one of them as it was closed, as JSON', '', doing(billGet, 'bill', tellAll)],
  ['pdf <bill>', 'write its PDF to a file', 'out', doing(billPdf, 'bill', save)],
  ['mail <bill>', 'mail the PDF to the tenant', 'to', doing(billMail, 'bill', tell)],
  ['credit <bill>', 'take an invoice back', 'reason', doing(billCredit, 'bill', tell)],
  ['paid <bill>', 'note that it was paid', 'on ref', doing(billPaid, 'bill', tell, { paid: true })],
  ['unpaid <bill>', 'note that it was not', '', doing(billPaid, 'bill', tell, { paid: false })],
  [
    'export <form>',
    'write a file for accounting: csv, datev or quickbooks',
    'month tenant status out',
    doing(billExport, 'form', save),
  ],
]

const abouts: Readonly<Record<string, string>> = {
  tenant: 'only of this tenant',
  month: 'only of this month, such as 2026-10',
  status: 'only those that are open, paid or credited',
  out: 'the file to write (default: its own name)',
  to: 'another e-mail address than the tenant’s own',
  reason: 'why',
  on: 'the day on which the money came (default: today)',
  ref: 'your reference of the money received',
  file: 'a JSON file with the members that the API takes',
}

export const billCommands = (program: Command): void => {
  const bill = program.command('bill').description('invoices of a reseller to its tenants')
  for (const [name, about, options, does] of commands) {
    const command = bill.command(name).description(about)
    for (const option of options.split(' ').filter((one) => one !== ''))
      command.option(`--${option} <${option}>`, abouts[option])
    command
      .option('--org <id>', 'the reseller, where there are several')
      .option('--json', 'for programs')
      .action((...given: unknown[]) => {
        // Commander gives the argument, if there is one, then the options.
        const [subject, read] = name.includes('<') ? given : ['', given[0]]
        return withDatabase((database) => does(database, String(subject), read as Options))
      })
  }
}

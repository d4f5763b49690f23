/** HTML whose inserted values come out as text, whatever letters they have. */

/** Text that is HTML already. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const letters: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** A text for an element or a quoted attribute, also of XML. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => letters[one] ?? one)

type Value = string | number | Html | readonly Html[] | undefined

const shown = (value: Value): string => {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  return typeof value === 'object' ? value.map(({ text }) => text).join('\n') : escaped(String(value))
}

/** A template: what stands in it literally is HTML, what is inserted is text unless it is Html itself. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, at) => part + shown(values[at])).join(''))

/** A table with its heads; each row as long as they are. */
export const table = (
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
): Html => html`<section class="wide" aria-label="${caption}" tabindex="0">
<table>
<caption>${caption}</caption>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</tbody>
</table>
</section>`

/** Lines of a program or shell, under what they are. */
export const code = (label: string, text: string): Html =>
  html`<section class="wide" aria-label="${label}" tabindex="0"><pre><code>${text}</code></pre></section>`

/** Text in which `code` stands between backticks. */
export const marked = (text: string): Html =>
  new Html(
    text
      .split('`')
      .map((part, at) => (at % 2 === 1 ? `<code>${escaped(part)}</code>` : escaped(part)))
      .join(''),
  )

/** HTML whose inserted values come out as text, whatever they contain. */

/** Text that is already HTML. */
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

/** A text for an element or a quoted attribute; also valid in XML. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (one) => letters[one] ?? one)

type Value = string | number | Html | readonly Html[] | undefined

const shown = (value: Value): string => {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  return typeof value === 'object' ? value.map(({ text }) => text).join('\n') : escaped(String(value))
}

/** A template: its literal parts are HTML; inserted values are text, unless they are Html themselves. */
export const html = (parts: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(parts.map((part, at) => part + shown(values[at])).join(''))

/** A table with headings; each row has as many cells as there are headings. */
export const table = (
  caption: string,
  heads: readonly string[],
  rows: readonly (readonly (string | Html)[])[],
  /** As a list, whose cells say by themselves what they are: on a telephone each row is a block, and none has heads. */
  asList = false,
): Html => html`<section class="wide" aria-label="${caption}" tabindex="0">
<table${asList ? html` class="list"` : html``}>
<caption>${caption}</caption>
<thead><tr>${heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell}</td>`)}</tr>`)}
</tbody>
</table>
</section>`

/** Lines of a program or shell, below a heading. */
export const code = (label: string, text: string): Html =>
  html`<section class="wide" aria-label="${label}" tabindex="0"><pre><code>${text}</code></pre></section>`

/** Text in which backticks mark `code`. */
export const marked = (text: string): Html =>
  new Html(
    text
      .split('`')
      .map((part, at) => (at % 2 === 1 ? `<code>${escaped(part)}</code>` : escaped(part)))
      .join(''),
  )
